// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api/json.h"
#include "api/kinds.h"
#include "api/random_object.h"

namespace sky::api {
namespace {

template <class T>
T AnyObject() {
  Rng rng(*rc::gen::arbitrary<uint64_t>());
  return RandomObject<T>(rng);
}

// What RC_GTEST_PROP does, for a typed test: quiet as long as the law holds.
template <class Law>
void Check(const Law& law) {
  rc::detail::checkGTest(law);
}

template <class T>
class JsonLaw : public ::testing::Test {};

using Everything =
    ::testing::Types<ObjectMeta, Pod, Node, Lease, Event, PodDisruptionBudget, PriorityClass,
                     PodGroup, PodGroupStatus, Queue, QueueStatus, Quota, QuotaStatus, JobQueue,
                     NodeTopology, NodeTopologySpec, Placement, QuotaSet, PersistentVolumeClaim,
                     PersistentVolume, StorageClass, CSINode>;
TYPED_TEST_SUITE(JsonLaw, Everything);

TYPED_TEST(JsonLaw, ReadingWhatWasWrittenGivesTheSameObject) {
  Check([] {
    const auto object = AnyObject<TypeParam>();
    const std::string json = Encode(object);
    const auto again = Decode<TypeParam>(json);
    if (!again) RC_FAIL(json + "\n" + again.error().message());
    RC_ASSERT(*again == object);
    // 2000 in a binary format is written "2000", which reads as decimal and is "2k" from then on.
    const std::string settled = Encode(*again);
    RC_ASSERT(Encode(*Decode<TypeParam>(settled)) == settled);
  });
}

TYPED_TEST(JsonLaw, WhatIsWrittenIsJsonToOthersToo) {
  Check([] {
    const std::string json = Encode(AnyObject<TypeParam>());
    const auto parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
    RC_ASSERT(!parsed.is_discarded());
    // Blanks and the order of members don't matter to a reader.
    const auto again = Decode<TypeParam>(parsed.dump(2));
    RC_ASSERT(again.has_value());
    RC_ASSERT(nlohmann::json::parse(Encode(*again)) == parsed);
  });
}

TYPED_TEST(JsonLaw, ATextCutShortIsRefused) {
  Check([] {
    const std::string json = Encode(AnyObject<TypeParam>());
    const size_t length = *rc::gen::inRange<size_t>(0, json.size());
    RC_ASSERT(!Decode<TypeParam>(std::string_view(json).substr(0, length)).has_value());
  });
}

TYPED_TEST(JsonLaw, UnknownMembersChangeNothingElse) {
  Check([] {
    const auto object = AnyObject<TypeParam>();
    auto json = nlohmann::json::parse(Encode(object));
    json["notOurs"] = {{"name", "x"}, {"list", {1, 2, nullptr}}};
    if (json.contains("metadata"))
      json["metadata"]["managedFields"] = nlohmann::json::array({1, "a"});
    if (json.contains("status")) json["status"]["notOurs"] = nlohmann::json::object();
    const auto again = Decode<TypeParam>(json.dump());
    RC_ASSERT(again.has_value());
    if constexpr (!requires { object.spec.extra; }) RC_ASSERT(*again == object);
  });
}

struct NameCollector {
  std::vector<std::string_view>& names;
  template <class M>
  void operator()(std::string_view name, const M& member) {
    names.push_back(name);
    if constexpr (HasFields<M>) CheckNames(member);
  }
  template <class M>
  void Always(std::string_view name, const M& member) {
    (*this)(name, member);
  }
  template <class T>
  static void CheckNames(const T& object) {
    std::vector<std::string_view> names;
    NameCollector collector{names};
    T::Fields(object, collector);
    EXPECT_LE(names.size(), 64u);  // as many as the reader has bits for
    EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  }
};

TYPED_TEST(JsonLaw, NoTypeHasTwoFieldsOfOneName) { NameCollector::CheckNames(TypeParam()); }

template <class T>
void KeepsUnknownMembersOfItsSpec() {
  auto json = nlohmann::json::parse(Encode(AnyObject<T>()));
  json["spec"]["a future member"] = {
      {"deep", {1, -2.5, nullptr, true, "☃\n", nlohmann::json::object()}}};
  json["spec"]["another"] = *rc::gen::arbitrary<int64_t>();
  const auto object = Decode<T>(json.dump());
  RC_ASSERT(object.has_value());
  RC_ASSERT(nlohmann::json::parse(Encode(*object)) == json);
}

RC_GTEST_PROP(JsonExtra, ALeaseKeepsUnknownMembersOfItsSpec, ()) {
  KeepsUnknownMembersOfItsSpec<Lease>();
}
RC_GTEST_PROP(JsonExtra, APlacementKeepsUnknownMembersOfItsSpec, ()) {
  KeepsUnknownMembersOfItsSpec<Placement>();
}

RC_GTEST_PROP(Quote, GivesTheSameTextBack, ()) {
  const auto bytes = *rc::gen::arbitrary<std::string>();
  const auto parsed = nlohmann::json::parse(Quote(bytes), nullptr, false);
  RC_ASSERT(parsed.is_string());
  const bool ascii =
      std::ranges::all_of(bytes, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) RC_ASSERT(parsed.get<std::string>() == bytes);
}

}  // namespace
}  // namespace sky::api
