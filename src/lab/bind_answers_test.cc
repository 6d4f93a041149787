// SPDX-License-Identifier: Apache-2.0
// Whatever a binding is answered, and whatever the reads that follow are: no claim is dropped while
// its binding may still land, for the room would be sold twice, and none is kept after its proof,
// for the room would be lost. Gangs ask for more than there is, so that whoever sees free room
// takes it.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <map>
#include <set>

#include "api/keys.h"
#include "base/rng.h"
#include "lab/scene_for_test.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

constexpr int kMachines = 6;
constexpr const char* kBinding = "verb: create, resource: pods, subresource: binding";

class Storm {
 public:
  Storm(uint64_t seed, framework::CommitOrder order) : rng_(seed) {
    lab_ = MakeQuietLab(order, seed, 1min);  // what lost members leave is free when it is calm
    api::PriorityClass urgent;  // who waits with it takes any room before those whose room it was
    urgent.metadata.name = "urgent";
    urgent.value = 1000;
    Make(urgent);
    for (int i = 0; i < kMachines; ++i) {
      const std::string node = fmt::format("n{}", i);
      Make(testing::MakeNode(node, Words("gpu=8 hca=8")));
      Make(testing::MakeTopology(node, "roce", {"S1"}));
    }
    for (int i = 0; i < kMachines + 3; ++i)
      Make(testing::MakeQuota(fmt::format("q-{}", i), Words("gpu=8 hca=8")));
    lab_->StartScheduler();
    lab_->Advance(1s);
  }

  void Blow() {
    for (int i = 0; i < 25; ++i) {
      Happen();
      lab_->Advance(std::chrono::milliseconds(rng_.Below(1500)));
      CheckSold();
    }
  }
  // The faults are over: what remains finds its place, and then all the room is there again.
  void Clear() {
    history_ += "clear\n";
    lab_->front().faults().Clear();
    for (int i = 0; i < kMachines; ++i) Cordon(i, false);
    for (int last = made_; made_ > 0 && last > 0 && Live() > kMachines; --last) Remove(last);
    lab_->Advance(3min);  // the longest back-off
    CheckSold();
    for (const api::Pod& pod : lab_->List<api::Pod>()) {
      const std::string& name = pod.metadata.name;
      EXPECT_TRUE(!pod.spec.node_name.empty() || short_.contains(name.substr(0, name.find('-'))))
          << name << " waits: "
          << lab_->scheduler()->reporter().WhyWaits("default/" + name.substr(0, name.find('-')))
          << "\n"
          << history_;
    }
    for (int i = 1; i <= made_; ++i) Remove(i);
    Group(kMachines);
    lab_->Advance(90s);
    CheckSold();
    EXPECT_EQ(Bound(), static_cast<size_t>(kMachines)) << history_;
    EXPECT_EQ(lab_->scheduler()->cache().Audit(), "") << history_;
    EXPECT_TRUE(lab_->scheduler()->Idle()) << history_;
  }
  uint64_t refused() { return lab_->scheduler()->stats().refused; }

 private:
  static testing::Words Words(std::string_view text) { return *testing::ReadWords(text); }
  template <class T>
  void Make(const T& object) {
    MakeIn(*lab_, object);
  }
  template <class... Texts>
  std::string Any(Texts... texts) {
    const std::string all[] = {texts...};
    return all[rng_.Below(sizeof...(texts))];
  }

  void Happen() {
    switch (rng_.Below(10)) {
      case 0:
      case 1:
      case 2:
        return Group(1 + static_cast<int>(rng_.Below(4)));
      case 3:
        return made_ > 0 ? Remove(1 + static_cast<int>(rng_.Below(static_cast<uint64_t>(made_))))
                         : Group(2);
      case 4:
        return Cordon(static_cast<int>(rng_.Below(kMachines)), rng_.Below(2) == 0);
      case 5:
        return Delete();
      default:
        return Fault();
    }
  }
  void Group(int members) { Group(members, Any("", "priority=urgent")); }
  void Group(int members, const std::string& words) {
    const std::string name = fmt::format("g{}", ++made_);
    history_ += fmt::format("group {} of {}\n", name, members);
    Make(testing::MakeGroup(name, members, Words(words)));
    for (int i = 0; i < members; ++i)
      Make(testing::MakeWorker(name, fmt::format("{}-{}", name, i), Words("gpu=8 hca=8")));
  }
  void Remove(int number) {
    const std::string name = fmt::format("g{}", number);
    history_ += "remove " + name + "\n";
    for (int i = 0; i < kMachines; ++i) DeletePod(fmt::format("{}-{}", name, i));
    lab_->Call("DELETE", api::KindOf<api::PodGroup>().Path("default", name));
  }
  // One member of somebody, at any moment of its binding.
  void Delete() {
    const std::vector<api::Pod> pods = lab_->List<api::Pod>();
    if (pods.empty()) return;
    const std::string& name = pods[rng_.Below(pods.size())].metadata.name;
    history_ += "delete " + name + "\n";
    short_.insert(name.substr(0, name.find('-')));
    DeletePod(name);
  }
  void DeletePod(const std::string& name) {
    lab_->Call("DELETE", api::KindOf<api::Pod>().Path("default", name) + "?gracePeriodSeconds=0");
    bound_.erase(name);
  }
  void Cordon(int number, bool cordoned) {
    history_ += fmt::format("{} n{}\n", cordoned ? "cordon" : "uncordon", number);
    lab_->Call("PATCH", api::KindOf<api::Node>().Path("", fmt::format("n{}", number)),
               fmt::format(R"({{"spec":{{"unschedulable":{}}}}})", cordoned),
               "application/merge-patch+json");
  }
  // On a binding, on the read that follows a lost one, or on what the watch tells.
  void Fault() {
    const std::string read = "verb: get, resource: pods", told = "event: true, resource: pods";
    switch (rng_.Below(6)) {
      case 0:
        return Add(read, Any("dropAnswer: true", "delay: 2s", "refuse: {code: 500}"));
      case 1:
        return Add(told, Any("hold: 400ms", "hold: 2s"));
      case 2:
      case 3:
        return Unknown();
      default:
        return Add(
            kBinding,
            Any("dropRequest: true", "dropAnswer: true", "delay: 700ms", "delay: 4s",
                "delayAnswer: 3s", "refuse: {code: 403, message: not here}", "refuse: {code: 404}",
                "refuse: {code: 409, reason: Conflict}",
                "refuse: {code: 409, reason: AlreadyExists}", "refuse: {code: 429, retryAfter: 2}",
                "refuse: {code: 500}", "refuse: {code: 504}"));
    }
  }
  // Room for somebody: the binding lands, for two seconds nobody can know, and others would like
  // the room.
  void Unknown() {
    Group(1, "priority=urgent");
    Group(1, "");
    if (made_ > 2) Remove(1 + static_cast<int>(rng_.Below(static_cast<uint64_t>(made_ - 2))));
    lab_->Settle();
    AddAt(kBinding, "dropAnswer: true", 1, 1);
    AddAt("verb: get, resource: pods", "delay: 2s", 1, 1);
    AddAt("event: true, resource: pods", "hold: 2s", 1, 1);
  }
  void Add(const std::string& match, const std::string& action) {
    AddAt(match, action, 1 + rng_.Below(3), 1 + rng_.Below(3));
  }
  void AddAt(const std::string& match, const std::string& action, uint64_t nth, uint64_t count) {
    const std::string fault =
        fmt::format("faults: [{{match: {{{}, nth: {}, count: {}}}, action: {{{}}}}}]", match, nth,
                    count, action);
    history_ += fault + "\n";
    const Status added = lab_->front().faults().Add(fault);
    SKY_CHECK(added.has_value(), "{}", added.error().message());
  }

  // No card is sold twice, no share used twice, nobody moves.
  void CheckSold() {
    std::map<std::string, int> pods_on, pods_by;
    for (const api::Pod& pod : lab_->List<api::Pod>()) {
      const std::string& node = pod.spec.node_name;
      if (node.empty()) continue;
      EXPECT_EQ(++pods_on[node], 1) << node << "\n" << history_;
      EXPECT_EQ(++pods_by[std::string(pod.metadata.Annotation(api::key::kQuotaName))], 1)
          << pod.metadata.name << "\n"
          << history_;
      const auto [known, first] = bound_.try_emplace(pod.metadata.name, node);
      EXPECT_EQ(known->second, node) << pod.metadata.name << "\n" << history_;
    }
  }
  int Live() { return static_cast<int>(lab_->List<api::Pod>().size()); }
  size_t Bound() {
    return static_cast<size_t>(std::ranges::count_if(
        lab_->List<api::Pod>(), [](const auto& pod) { return !pod.spec.node_name.empty(); }));
  }

  Rng rng_;
  std::unique_ptr<Simulation> lab_;
  std::string history_;
  std::map<std::string, std::string> bound_;
  std::set<std::string> short_;  // of a member
  int made_ = 0;
};

// Others with another --gtest_random_seed, as --gtest_shuffle --gtest_repeat gives them.
uint64_t First() {
  return 1000 * static_cast<uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
}

TEST(BindAnswers, NoClaimIsDroppedTooEarlyAndNoneIsKeptTooLong) {
  spdlog::set_level(spdlog::level::off);
  // Three storms, and more until one of them has seen a refusal.
  uint64_t refused = 0;
  for (uint64_t seed = 0;
       (seed < 3 || (refused == 0 && seed < 20)) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", First() + seed));
    Storm storm(First() + seed, seed % 2 == 0 ? framework::CommitOrder::kPlacementFirst
                                              : framework::CommitOrder::kQuotaFirst);
    storm.Blow();
    refused += storm.refused();
    storm.Clear();
  }
  EXPECT_GT(refused, 0u);
  spdlog::set_level(spdlog::level::info);
}

}  // namespace
}  // namespace sky::lab
