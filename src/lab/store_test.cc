// SPDX-License-Identifier: Apache-2.0
#include "lab/store.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

namespace sky::lab {
namespace {

using State = std::map<std::string, std::string>;  // "ns/name" → document

Json Thing(std::string_view ns, std::string_view name, int value) {
  Json metadata = {{"name", name}};
  if (!ns.empty()) metadata["namespace"] = ns;
  return {{"metadata", metadata}, {"value", value}};
}

State StateOf(const std::vector<ObjectPtr>& objects) {
  State state;
  for (const ObjectPtr& object : objects) state[object->ns + "/" + object->name] = object->text;
  return state;
}

void ApplyEvent(const StoreEvent& event, State& state) {
  const std::string key = event.object->ns + "/" + event.object->name;
  if (event.type == StoreEvent::Type::kDeleted)
    state.erase(key);
  else
    state[key] = event.object->text;
}

TEST(Store, CountsOneRevisionOverAllKinds) {
  Store store(100);
  const KindId a = store.AddKind(nullptr), b = store.AddKind(nullptr);
  Json first = Thing("", "x", 1), second = Thing("", "x", 2);
  const Revision at_first = store.Put(a, first)->revision;
  EXPECT_EQ(store.Put(b, second)->revision, at_first + 1);
  EXPECT_EQ(TextAt(second, {"metadata", "resourceVersion"}), std::to_string(at_first + 1));
  EXPECT_EQ(store.Delete(a, "", "x")->revision, at_first + 2);
  EXPECT_EQ(store.Get(a, "", "x"), nullptr);
  EXPECT_NE(store.Get(b, "", "x"), nullptr);
}

TEST(Store, BeginsWhereItIsToldAndKnowsNothingOfBefore) {
  Store store(100, 5000);
  const KindId kind = store.AddKind(nullptr);
  Json thing = Thing("", "x", 1);
  EXPECT_EQ(store.Put(kind, thing)->revision, 5001);
  EXPECT_EQ(store.EventsAfter(kind, 5000)->size(), 1u);
  EXPECT_EQ(store.List(kind, "", 5000)->size(), 0u);
  EXPECT_EQ(store.EventsAfter(kind, 4999).error().code(), Code::kExpired);
  EXPECT_EQ(store.List(kind, "", 4999).error().code(), Code::kExpired);
}

TEST(Store, ListsByNamespaceAndNameInByteOrder) {
  Store store(100);
  const KindId kind = store.AddKind(nullptr);
  for (const auto& [ns, name] :
       {std::pair("b", "1"), std::pair("a", "2"), std::pair("a", "10"), std::pair("a-b", "0")}) {
    Json thing = Thing(ns, name, 0);
    store.Put(kind, thing);
  }
  std::vector<std::string> keys;
  const auto listed = store.List(kind, "", store.revision());
  for (const ObjectPtr& object : *listed) keys.push_back(object->ns + "/" + object->name);
  EXPECT_EQ(keys, (std::vector<std::string>{"a/10", "a/2", "a-b/0", "b/1"}));
  EXPECT_EQ(store.List(kind, "a", store.revision())->size(), 2u);
}

TEST(Store, SaysThatForgottenRevisionsAreExpiredAndFutureOnesInvalid) {
  Store store(3);
  const KindId kind = store.AddKind(nullptr);
  for (int i = 0; i < 5; ++i) {
    Json thing = Thing("", "x", i);
    store.Put(kind, thing);
  }
  EXPECT_EQ(store.compacted(), store.revision() - 3);
  EXPECT_EQ(store.EventsAfter(kind, store.compacted())->size(), 3u);
  EXPECT_EQ(store.EventsAfter(kind, store.compacted() - 1).error().code(), Code::kExpired);
  EXPECT_EQ(store.List(kind, "", store.compacted() - 1).error().code(), Code::kExpired);
  EXPECT_EQ(store.List(kind, "", store.revision() + 1).error().code(), Code::kInvalid);
  store.Compact(store.revision());
  EXPECT_TRUE(store.EventsAfter(kind, store.revision())->empty());
  EXPECT_FALSE(store.EventsAfter(kind, store.revision() - 1).has_value());
  EXPECT_EQ(store.List(kind, "", store.revision())->size(), 1u);
}

TEST(Store, GivesSelectorsTheFieldsOfAnObject) {
  Store store(10);
  const KindId kind = store.AddKind([](const Json& document) -> api::StringMap {
    return {{"spec.node", TextAt(document, {"spec", "node"})}};
  });
  Json thing = {{"metadata", {{"name", "x"}, {"namespace", "d"}, {"labels", {{"a", "b"}}}}},
                {"spec", {{"node", "n1"}}}};
  const ObjectPtr object = store.Put(kind, thing);
  EXPECT_EQ(object->fields.at("spec.node"), "n1");
  EXPECT_EQ(object->fields.at("metadata.name"), "x");
  EXPECT_EQ(object->fields.at("metadata.namespace"), "d");
  EXPECT_EQ(object->labels.at("a"), "b");
}

// Whatever was written, each state that is still remembered can be told again, by listing it, and
// by listing an older one and following the events.
RC_GTEST_PROP(Store, TellsEveryRememberedStateAgain, ()) {
  const auto limit = *rc::gen::inRange<size_t>(1, 40);
  Store store(limit);
  const std::vector<KindId> kinds = {store.AddKind(nullptr), store.AddKind(nullptr)};
  std::map<Revision, State> truth;  // of kind 0
  State heard;                      // by a listener
  store.Listen(kinds[0], [&](const StoreEvent& event) { ApplyEvent(event, heard); });
  const int steps = *rc::gen::inRange(0, 60);
  truth[store.revision()] = {};
  for (int i = 0; i < steps; ++i) {
    const KindId kind = kinds[*rc::gen::inRange<size_t>(0, 2)];
    const std::string ns = *rc::gen::element<std::string>("a", "b");
    const std::string name = *rc::gen::element<std::string>("x", "y", "z");
    if (*rc::gen::inRange(0, 3) == 0 && store.Get(kind, ns, name) != nullptr) {
      store.Delete(kind, ns, name);
    } else {
      Json thing = Thing(ns, name, i);
      store.Put(kind, thing);
    }
    if (*rc::gen::inRange(0, 20) == 0) store.Compact(store.revision() - 2);
    truth[store.revision()] = StateOf(*store.List(kinds[0], "", store.revision()));
  }
  RC_ASSERT(heard == truth[store.revision()]);
  for (const auto& [revision, state] : truth) {
    const auto listed = store.List(kinds[0], "", revision);
    RC_ASSERT(listed.has_value() == (revision >= store.compacted()));
    if (!listed) continue;
    RC_ASSERT(StateOf(*listed) == state);
    State followed = StateOf(*listed);
    const auto events = store.EventsAfter(kinds[0], revision);
    RC_ASSERT(events.has_value());
    for (const StoreEvent& event : *events) ApplyEvent(event, followed);
    RC_ASSERT(followed == truth[store.revision()]);
    RC_ASSERT(StateOf(*store.List(kinds[0], "a", revision)).size() <= state.size());
  }
}

}  // namespace
}  // namespace sky::lab
