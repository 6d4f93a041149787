// SPDX-License-Identifier: Apache-2.0
// Amounts of every shape, in every place where one can be written, from the API server to the
// ledgers: the value is what Kubernetes reads, or the object is refused or left out whole; it is
// never zero, never wrapped, and what is written back reads as the same.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/scene_for_test.h"
#include "lab/test_cluster.h"
#include "testing/cluster.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kMost = INT64_MAX;

struct Amount {
  std::string text;
  // As memory in bytes and as cpu in thousandths; nullopt: no quantity at all.
  std::optional<int64_t> bytes, milli;
  bool in_crd = true;  // the schema of our kinds takes it: short, with a small exponent
};

std::vector<Amount> Amounts() {
  return {
      {"0.5Gi", 536'870'912, 536'870'912'000},
      {"1.5Ti", 1'649'267'441'664, 1'649'267'441'664'000},
      {".5", 1, 500},
      {"5.", 5, 5'000},
      {"+1", 1, 1'000},
      {"-1", -1, -1'000, false},
      {"1e3", 1'000, 1'000'000},
      {"1E3", 1'000, 1'000'000},
      {"1E", 1'000'000'000'000'000'000, kMost},
      {"1Ei", int64_t{1} << 60, kMost},
      {"10P", 10'000'000'000'000'000, kMost},
      {"100E", kMost, kMost},
      {"9223372036854775807", kMost, kMost},
      {"9223372036854775808", kMost, kMost},
      {"1e4294967297", kMost, kMost, false},
      {"2E6024865272343", kMost, kMost, false},
      {"1500m", 2, 1'500},
      {"0.0001", 1, 1},
      {std::string(10'000, '7'), kMost, kMost, false},
      {"0x10", {}, {}, false},
      {"1 Gi", {}, {}, false},
      {"\u0661", {}, {}, false},
      {"", {}, {}, false},
  };
}

struct AmountsTest : ::testing::Test {
  AmountsTest() { lab = MakeQuietLab(); }
  // The status of the answer, and the object as the server keeps it.
  template <class T>
  int Post(Json object) {
    const api::Kind& kind = api::KindOf<T>();
    object["apiVersion"] = kind.ApiVersion();
    object["kind"] = kind.kind;
    const auto response =
        lab->Call("POST", kind.Path(kind.namespaced ? "default" : "", ""), Dump(object));
    return response.status;
  }
  static Json Both(const std::string& text) { return {{"cpu", text}, {"memory", text}}; }
  static void ExpectBoth(const model::Resources& have, const Amount& amount) {
    EXPECT_EQ(have[model::ResourceNames::kCpu], *amount.milli);
    EXPECT_EQ(have[model::ResourceNames::kMemory], *amount.bytes);
  }
  // What the server shows reads as what was meant.
  template <class T>
  void ExpectKept(const std::string& ns, const std::string& name,
                  const api::ResourceList& (*list)(const T&), const Amount& amount) {
    const auto object = lab->Get<T>(ns, name);
    ASSERT_TRUE(object.has_value()) << object.error().message();
    EXPECT_EQ(list(*object).at("memory").Value(), *amount.bytes);
    EXPECT_EQ(api::Quantity::Parse(list(*object).at("memory").ToString())->Value(), *amount.bytes);
  }

  std::unique_ptr<Simulation> lab;
};

TEST_F(AmountsTest, EveryAmountInEveryPlaceIsReadAsKubernetesReadsItOrRefused) {
  lab->StartScheduler();
  lab->Advance(1s);
  int number = 0;
  for (const Amount& amount : Amounts()) {
    SCOPED_TRACE(amount.text.substr(0, 30));
    const std::string name = fmt::format("x{}", ++number);
    const Json meta = {{"name", name}};
    const bool good = amount.milli.has_value(), positive = good && *amount.milli > 0;
    // A pod's container, with a name that is nobody's to schedule: it is only counted.
    EXPECT_EQ(Post<api::Pod>({{"metadata", meta},
                              {"spec",
                               {{"schedulerName", "sky-scheduler"},
                                {"containers",
                                 {{{"name", "main"},
                                   {"image", "work"},
                                   {"resources", {{"requests", Both(amount.text)}}}}}}}}}),
              positive ? 201 : 422);
    EXPECT_EQ(
        Post<api::Quota>({{"metadata", meta},
                          {"spec", {{"queueName", "default"}, {"request", Both(amount.text)}}}}),
        positive && amount.in_crd ? 201 : 422);
    EXPECT_EQ(Post<api::Queue>({{"metadata", meta}, {"spec", {{"capability", Both(amount.text)}}}}),
              positive && amount.in_crd ? 201 : 422);
    // What kubelets write isn't checked by the embedded server: a node that can't be read is left
    // out, whole.
    EXPECT_EQ(
        Post<api::Node>({{"metadata", meta}, {"status", {{"allocatable", Both(amount.text)}}}}),
        201);
    lab->Advance(200ms);

    const model::Cluster rows = lab->scheduler()->cache().Copy();
    const model::NodeId node = rows.nodes().Find(name);
    ASSERT_EQ(node.valid(), good);
    if (good) ExpectBoth(rows.nodes()[node].allocatable, amount);
    const model::QuotaId quota = rows.quotas().Find(name);
    ASSERT_EQ(quota.valid(), positive && amount.in_crd);
    if (quota.valid()) ExpectBoth(rows.quotas()[quota].request, amount);
    const model::JobId job = rows.jobs().Find("pod:default/" + name);
    ASSERT_EQ(job.valid(), positive);
    if (job.valid())
      ExpectBoth(rows.tasks()[rows.jobs()[job].members.at(0)].facts->request, amount);
    if (positive && amount.in_crd) {
      ExpectKept<api::Quota>(
          "", name,
          [](const api::Quota& it) -> const api::ResourceList& { return it.spec.request; }, amount);
      ExpectKept<api::Queue>(
          "", name,
          [](const api::Queue& it) -> const api::ResourceList& { return it.spec.capability; },
          amount);
    }
  }
  EXPECT_EQ(lab->scheduler()->cache().Audit(), "");
}

TEST_F(AmountsTest, ANodeThatCantBeReadIsToldOfAndOthersGoOn) {
  lab->StartScheduler();
  lab->Advance(1s);
  for (const std::string text : {"0x10", "8"})
    ASSERT_EQ(Post<api::Node>({{"metadata", {{"name", "n" + text}}},
                               {"status",
                                {{"allocatable", {{"nvidia.com/gpu", text}, {"pods", "9"}}},
                                 {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}}),
              201);
  ASSERT_EQ(Post<api::Quota>(
                {{"metadata", {{"name", "q"}}},
                 {"spec", {{"queueName", "default"}, {"request", {{"nvidia.com/gpu", "1500m"}}}}}}),
            201)
      << "a quota may hold part of a card";
  const auto pod = [&](const std::string& gpus) {
    return Post<api::Pod>({{"metadata", {{"name", "p"}}},
                           {"spec",
                            {{"schedulerName", "sky-scheduler"},
                             {"containers",
                              {{{"name", "main"},
                                {"image", "work"},
                                {"resources", {{"limits", {{"nvidia.com/gpu", gpus}}}}}}}}}}});
  };
  EXPECT_EQ(pod("1500m"), 422) << "and a pod can't";
  EXPECT_EQ(pod("1"), 201);
  lab->Advance(3s);
  EXPECT_EQ(lab->Get<api::Pod>("default", "p")->spec.node_name, "n8");
  EXPECT_EQ(std::ranges::count_if(lab->events,
                                  [](const std::string& event) {
                                    return event.starts_with(
                                        "Warning InvalidObject /n0x10: it "
                                        "can't be read and is left out");
                                  }),
            1);
  // Made readable, it is a node like any other, and calm is back.
  ASSERT_EQ(lab->Call("PATCH", "/api/v1/nodes/n0x10/status",
                      R"({"status":{"allocatable":{"nvidia.com/gpu":"16"}}})",
                      "application/merge-patch+json")
                .status,
            200);
  lab->Advance(1s);
  EXPECT_TRUE(lab->scheduler()->cache().Copy().nodes().Find("n0x10").valid());
}

TEST(Amounts, AThousandTenthsThatComeAndGoLeaveNothing) {
  testing::Cluster c;
  c.Nodes("n0", "gpu=8 cpu=64");
  c.Pod("stays", "cpu=0.3 node=n0 scheduler=default-scheduler");
  for (int i = 0; i < 1000; ++i) {
    c.Pod("guest", "cpu=0.1 node=n0 scheduler=default-scheduler");
    c.Remove<api::Pod>("default/guest");
  }
  const model::Cluster rows = c.cache().Copy();
  EXPECT_EQ(rows.nodes()[rows.nodes().Find("n0")].used[model::ResourceNames::kCpu], 300);
  c.Audit();
}

}  // namespace
}  // namespace sky::lab
