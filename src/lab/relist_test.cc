// SPDX-License-Identifier: Apache-2.0
// What happened to an object of any kind while its watch was down, and the server has forgotten the
// history in between: the new list tells each change once, as what it was.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/informer.h"
#include "lab/process_transport.h"
#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

// An object of the kind that the API server takes.
template <class T>
Json Sample(std::string_view name) {
  static const std::map<std::string_view, std::string_view> kSpecs = {
      {"Queue", R"({"weight":1})"},
      {"JobQueue", R"({"queue":"default","jobSelector":{"matchLabels":{"a":"b"}}})"},
      {"NodeTopology", R"({"net":{"roce":[{"name":"eth0","switchName":"S1"}]}})"},
      {"Placement", R"({"podGroupUID":"u","round":1,"leaderEpoch":0,"entries":[]})"},
      {"QuotaSet",
       R"({"replicas":1,"template":{"queueName":"default","request":{"nvidia.com/gpu":"1"}}})"},
  };
  if constexpr (std::is_same_v<T, api::Pod>) return TestCluster::Pod(name);
  if constexpr (std::is_same_v<T, api::Node>) return TestCluster::Node(name);
  if constexpr (std::is_same_v<T, api::Quota>) return TestCluster::Quota(name);
  if constexpr (std::is_same_v<T, api::PodGroup>) return TestCluster::Group(name);
  const api::Kind& kind = api::KindOf<T>();
  Json object = {{"apiVersion", kind.ApiVersion()}, {"kind", kind.kind}};
  object["metadata"]["name"] = name;
  if constexpr (std::is_same_v<T, api::PriorityClass>)
    object["value"] = 7;
  else
    object["spec"] = J(kSpecs.at(kind.kind));
  return object;
}

template <class T>
class Relist : public ::testing::Test {
 protected:
  std::string Path(std::string_view name) const {
    return api::KindOf<T>().Path(api::KindOf<T>().namespaced ? "default" : "", name);
  }
  std::string Make(std::string_view name) {
    return c.Make(Path(""), Sample<T>(name))["metadata"]["uid"].template get<std::string>();
  }
  void Delete(std::string_view name) { EXPECT_TRUE(c.client->Delete(Path(name)).ok()) << name; }
  void Change(std::string_view name) {
    EXPECT_TRUE(c.client
                    ->Patch(InProcess::PatchType::kMerge, Path(name),
                            J(R"({"metadata":{"labels":{"changed":"yes"}}})"))
                    .ok())
        << name;
  }

  void Begin(bool streaming_list) {
    kube::InformerCallbacks<T> callbacks;
    callbacks.on_delta = [this](const api::Delta<T>& delta) {
      using Type = typename api::Delta<T>::Type;
      const std::string_view what = delta.type == Type::kAdd      ? "added"
                                    : delta.type == Type::kUpdate ? "changed"
                                                                  : "deleted";
      told.push_back(
          fmt::format("{} {} {}", delta.object->metadata.name, what, delta.object->metadata.uid));
    };
    kube::ReflectorOptions options;
    options.streaming_list = streaming_list;
    informer = std::make_unique<kube::Informer<T>>(client, options, std::move(callbacks));
    informer->Start();
    Pass(1s);
    ASSERT_TRUE(informer->HasSynced());
    told.clear();
  }
  void Pass(Duration time) {
    for (Duration gone{}; gone < time; gone += 50ms) {
      c.api->Tick();
      loop.Advance(50ms);
    }
  }
  // "name uid label" of all objects, as the informer has them and as the server lists them.
  Texts Held() const {
    Texts texts;
    for (const auto& [key, object] : informer->objects())
      texts.push_back(fmt::format("{} {} {}", object->metadata.name, object->metadata.uid,
                                  object->metadata.Label("changed")));
    return texts;
  }
  Texts Listed() {
    Texts texts;
    const Json list = c.Get(Path(""));
    for (const Json& item : list["items"]) {
      const Json& meta = item["metadata"];
      const Json labels = meta.value("labels", Json::object());
      texts.push_back(fmt::format("{} {} {}", meta["name"].template get<std::string>(),
                                  meta["uid"].template get<std::string>(),
                                  labels.value("changed", "")));
    }
    return texts;
  }

  TestCluster c;
  kube::ManualLoop loop{c.clock};
  Front front{
      *c.api, c.clock,
      [this](Duration wait, std::function<void()> task) { loop.RunAfter(wait, std::move(task)); },
      [](int) {}};
  ProcessTransport transport{loop, front};
  kube::Client client{transport};
  std::unique_ptr<kube::Informer<T>> informer;
  Texts told;
};

using Kinds =
    ::testing::Types<api::Pod, api::Node, api::Quota, api::Queue, api::PodGroup, api::JobQueue,
                     api::NodeTopology, api::Placement, api::QuotaSet, api::PriorityClass>;

struct KindNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(api::KindOf<T>().kind);
  }
};
TYPED_TEST_SUITE(Relist, Kinds, KindNames);

TYPED_TEST(Relist, EachChangeThatNobodyWatchedIsToldOnceAsWhatItWas) {
  for (const bool streaming_list : {true, false}) {
    for (const char* name : {"same", "changed", "deleted", "recreated"}) this->Make(name);
    const std::string deleted = this->c.Get(this->Path("deleted"))["metadata"]["uid"],
                      old = this->c.Get(this->Path("recreated"))["metadata"]["uid"],
                      changed = this->c.Get(this->Path("changed"))["metadata"]["uid"];
    this->Begin(streaming_list);
    ASSERT_EQ(this->Held(), this->Listed());

    this->transport.CutStreams();
    this->Change("changed");
    this->Delete("deleted");
    this->Delete("recreated");
    const std::string recreated = this->Make("recreated"), fresh = this->Make("fresh");
    this->Make("short-lived");
    this->Delete("short-lived");
    this->c.api->Compact();
    this->Pass(30s);

    std::ranges::sort(this->told);
    EXPECT_EQ(this->told, (Texts{"changed changed " + changed, "deleted deleted " + deleted,
                                 "fresh added " + fresh, "recreated added " + recreated,
                                 "recreated deleted " + old}));
    EXPECT_EQ(this->Held(), this->Listed());
    EXPECT_EQ(this->informer->stats().relists, 1u);
    // And the watch goes on from there.
    this->told.clear();
    this->Delete("same");
    this->Pass(1s);
    EXPECT_EQ(this->told.size(), 1u);
    EXPECT_EQ(this->Held(), this->Listed());
    this->informer->Stop();
    this->informer.reset();
    for (const char* name : {"changed", "recreated", "fresh"}) this->Delete(name);
  }
}

}  // namespace
}  // namespace sky::lab
