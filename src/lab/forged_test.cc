// SPDX-License-Identifier: Apache-2.0
// Another hand writes Placements: over ours and beside them, for places that are taken, pods of
// other groups, quotas of other queues, nodes without room, with the wrong label or under another
// switch, earlier lives of a group, halves of a gang; while groups and pods come and go, events are
// heard out of order and the scheduler dies. Whatever it says, nobody is bound where the rules of
// its own gang don't allow it, and in the end everybody has a place.
#include <gtest/gtest.h>

#include <set>

#include "api/keys.h"
#include "base/rng.h"
#include "lab/changes.h"
#include "lab/scene_for_test.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGpu = "nvidia.com/gpu";

struct GangOf {
  const char *name, *words;
  int members, most;  // the least, and with extras
};
// S1 holds a and b to the last GPU, and so does S2: whoever has begun under a switch can be
// completed there. d and the single pod go to n5 and n6.
constexpr GangOf kGangs[] = {{"a", "gpu=2 hca=2", 3, 4},
                             {"b", "gpu=2 hca=2 queue=other", 3, 3},
                             {"d", "gpu=2 select=disk:ssd", 2, 2}};

class Forgers {
 public:
  Forgers(uint64_t seed, framework::CommitOrder order) : rng_(seed), cuts_(seed % 2 == 0) {
    lab_ = MakeQuietLab(order, seed);
    Draw();
  }

  void Play(int events) {
    for (int i = 0; i < events && broken_.empty(); ++i) Happen();
    Mend();
    // Longer than every back-off, nap and timeout.
    Pass(6min);
  }
  // "" when all is as it should be; else what is wrong.
  std::string Wrong() {
    if (!broken_.empty()) return broken_;
    for (const api::Pod& pod : lab_->List<api::Pod>())
      if (pod.spec.node_name.empty())
        return fmt::format("{} has no place: {}\n{}", pod.metadata.name,
                           lab_->scheduler()->reporter().WhyWaits(
                               pod.metadata.namespace_ + "/" +
                               std::string(pod.metadata.Annotation(api::key::kGroupName))),
                           Where());
    if (std::string why = Unquiet("at last"); !why.empty()) return why;
    lab_->KillScheduler();
    lab_->StartScheduler();
    Pass(10s);
    return broken_.empty() ? Unquiet("after a restart") : broken_;
  }
  const std::string& history() const { return history_; }
  size_t bound() const { return seen_.size(); }

 private:
  template <class T>
  const T& Any(const std::vector<T>& all) {
    return all[rng_.Below(all.size())];
  }
  void Note(std::string what) { history_ += std::move(what) + "\n"; }
  template <class T>
  void Make(const T& object) {
    MakeIn(*lab_, object);
  }
  static testing::Words Words(const std::string& text) { return *testing::ReadWords(text); }

  void Node(const std::string& name, const std::string& leaf, const std::string& words) {
    Make(testing::MakeNode(name, Words(words)));
    if (!leaf.empty()) Make(testing::MakeTopology(name, "roce", {leaf}));
  }
  void Draw() {
    api::Queue other;
    other.metadata.name = "other";
    Make(other);
    for (const char* name : {"n0", "n1"}) Node(name, "S1", "gpu=8 hca=8 spec=a100");
    for (const char* name : {"n2", "n3"}) Node(name, "S2", "gpu=8 hca=8 spec=a100");
    Node("n4", "S3", "gpu=4 hca=4 spec=a100");
    Node("n5", "S3", "gpu=4 hca=4 spec=h100 label=disk:ssd");
    Node("n6", "", "gpu=4 hca=4 label=disk:ssd");
    for (const char* node : {"n1", "n3"})
      Make(testing::MakeWorker("", std::string("stranger-on-") + node,
                               Words(std::string("gpu=2 scheduler=other node=") + node)));
    for (int i = 0; i < 9; ++i)
      Make(testing::MakeQuota(fmt::format("q-{}", i), Words("gpu=2 hca=2")));
    for (int i = 0; i < 3; ++i)
      Make(testing::MakeQuota(fmt::format("o-{}", i), Words("gpu=2 hca=2 queue=other")));
    lab_->StartScheduler();
    Pass(2s);
    for (const GangOf& gang : kGangs) Begin(gang);
    Make(testing::MakeWorker("", "lone", Words("gpu=2 select=disk:ssd")));
  }
  void Begin(const GangOf& gang) {
    Make(testing::MakeGroup(gang.name, gang.members, Words(gang.words)));
    for (int i = 0; i < gang.members; ++i) Member(gang, i);
  }
  void Member(const GangOf& gang, int index) {
    Make(testing::MakeWorker(gang.name, fmt::format("{}-{}", gang.name, index), Words(gang.words)));
  }
  void Delete(const std::string& path, bool now = true) {
    lab_->Call("DELETE", path + (now ? "?gracePeriodSeconds=0" : ""));
  }
  static std::string PodPath(const std::string& name) {
    return api::KindOf<api::Pod>().Path("default", name);
  }
  static std::string PlacementPath(const std::string& name) {
    return api::KindOf<api::Placement>().Path("default", name);
  }

  // --- what happens ---
  void Happen() {
    switch (rng_.Below(12)) {
      case 0:
      case 1:
      case 2:
        return Forge(kGangs[rng_.Below(std::size(kGangs))]);
      case 3:
        return Recreate(kGangs[rng_.Below(std::size(kGangs))]);
      case 4: {
        const GangOf& gang = kGangs[rng_.Below(std::size(kGangs))];
        const int index = static_cast<int>(rng_.Below(static_cast<uint64_t>(gang.most)));
        const std::string name = fmt::format("{}-{}", gang.name, index);
        const bool now = rng_.Below(3) != 0;
        Note(fmt::format("delete {}{}", name, now ? " and make it anew" : ", it takes its time"));
        Delete(PodPath(name), now);
        if (now) Member(gang, index);
        return;
      }
      case 5: {
        const GangOf& gang = kGangs[rng_.Below(std::size(kGangs))];
        Note(fmt::format("delete the Placement {}", gang.name));
        return Delete(PlacementPath(gang.name));
      }
      case 6:
        return Disorder();
      case 7:
        if (cuts_) {
          Note("cut");
          return lab_->CutStreams();
        }
        [[fallthrough]];
      case 8:
        if (lab_->scheduler() != nullptr) {
          Note("kill");
          lab_->KillScheduler();
          if (rng_.Below(2) == 0) return;
        }
        return Start();
      case 9: {
        const std::string node = fmt::format("n{}", rng_.Below(4));
        Cordon(cordoned_, false);
        Cordon(cordoned_ = rng_.Below(2) == 0 ? node : "", true);
        return;
      }
      default:
        return PassSome();
    }
  }
  void Start() {
    if (lab_->scheduler() != nullptr) return;
    Note("start");
    lab_->StartScheduler();
  }
  void PassSome() {
    if (rng_.Below(2) == 0) {
      Note("a write");
      if (lab_->AdvanceToWrite(2s)) Watch();
      return;
    }
    const Duration by = Any<Duration>({10ms, 100ms, 1s, 7s, 70s});
    Note(FormatDuration(by));
    Pass(by);
  }
  void Cordon(const std::string& node, bool cordon) {
    if (node.empty()) return;
    Note(fmt::format("{} {}", cordon ? "cordon" : "uncordon", node));
    lab_->Call("PATCH", api::KindOf<api::Node>().Path("", node),
               fmt::format(R"({{"spec":{{"unschedulable":{}}}}})", cordon),
               "application/merge-patch+json");
  }
  // The group and its pods go and come again, in any order.
  void Recreate(const GangOf& gang) {
    Note(fmt::format("recreate {}", gang.name));
    std::vector<std::function<void()>> steps = {[&] {
      Delete(api::KindOf<api::PodGroup>().Path("default", gang.name));
      Make(testing::MakeGroup(gang.name, gang.members, Words(gang.words)));
    }};
    for (int i = 0; i < gang.most; ++i)
      steps.emplace_back([this, &gang, i] {
        Delete(PodPath(fmt::format("{}-{}", gang.name, i)));
        Member(gang, i);
      });
    while (!steps.empty()) {
      const auto at = static_cast<ptrdiff_t>(rng_.Below(steps.size()));
      steps[static_cast<size_t>(at)]();
      steps.erase(steps.begin() + at);
      if (rng_.Below(4) == 0 && lab_->AdvanceToWrite(50ms)) Watch();
    }
    if (rng_.Below(2) == 0) Forge(gang);
  }
  void Disorder() {
    const std::string kind = Any<std::string>({"placements", "podgroups", "pods", "quotas"});
    const std::string action =
        cuts_ ? Any<std::string>({"hold: 500ms", "hold: 5s", "cutWatch: true"})
              : Any<std::string>({"hold: 500ms", "hold: 5s", "reverse: 2", "reverse: 3"});
    Note(fmt::format("{} of {}", action, kind));
    const Status added = lab_->front().faults().Add(fmt::format(
        "faults:\n- match: {{event: true, resource: {}}}\n  action: {{{}}}\n", kind, action));
    SKY_CHECK(added.has_value(), "{}", added.error().message());
  }

  // --- the forger ---
  void Forge(const GangOf& gang) {
    const auto group = lab_->Get<api::PodGroup>("default", gang.name);
    if (!group) return;
    api::Placement forged;
    forged.metadata.namespace_ = "default";
    forged.metadata.name = rng_.Below(8) == 0 ? "nobody" : gang.name;
    forged.spec.pod_group_uid =
        rng_.Below(4) == 0 ? Any<std::string>({"earlier", "uid"}) : group->metadata.uid;
    forged.spec.round = static_cast<int64_t>(rng_.Below(9));
    forged.spec.zones = {"roce#S1", "roce#S2", "roce#S3"};
    for (int i = 0; i < 7; ++i) forged.spec.nodes.push_back(fmt::format("n{}", i));
    for (const api::Quota& quota : lab_->List<api::Quota>())
      forged.spec.quotas.push_back(quota.metadata.name);
    forged.spec.nodes.push_back("nowhere"), forged.spec.quotas.push_back("nothing");
    // A whole gang that looks as if we had written it, in places of somebody else's choice; or
    // anything at all.
    const bool likely = rng_.Below(3) != 0;
    const size_t first = gang.name[0] == 'b' ? 0 : 3;  // its queue's quotas
    size_t quota = first + rng_.Below(3);
    for (const api::Pod& pod : lab_->List<api::Pod>()) {
      const bool member = pod.metadata.Annotation(api::key::kGroupName) == gang.name;
      if (likely ? !member : rng_.Below(2) == 0) continue;
      const auto any = [&](size_t size) { return static_cast<int32_t>(rng_.Below(size)); };
      const int32_t behind = !likely && rng_.Below(20) == 0 ? 99 : 0;  // the API refuses it
      forged.spec.entries.push_back(
          {pod.metadata.name, pod.metadata.uid, "", std::nullopt,
           likely ? static_cast<int32_t>(quota++) : any(forged.spec.quotas.size()) + behind,
           any(likely ? 7 : forged.spec.nodes.size()), any(3)});
      if (likely && rng_.Below(2) == 0)  // beside its neighbour
        forged.spec.entries.back().node = forged.spec.entries.front().node ^ 1;
      if (!likely && rng_.Below(5) == 0) forged.spec.entries.back().pod_uid = "uid of nobody";
      if (!likely && rng_.Below(5) == 0) forged.spec.entries.push_back(forged.spec.entries.back());
    }
    Write(forged);
  }
  void Write(const api::Placement& forged) {
    const std::string body = api::Encode(forged);
    Note("forge " + body);
    const api::Kind& kind = api::KindOf<api::Placement>();
    if (lab_->Call("POST", kind.Path("default", ""), body).status == 409)
      lab_->Call("PATCH", kind.Path("default", forged.metadata.name), body,
                 "application/merge-patch+json");
  }

  void Mend() {
    lab_->front().ClearFaults();
    Cordon(std::exchange(cordoned_, {}), false);
    for (const api::Pod& pod : lab_->List<api::Pod>())
      if (pod.metadata.deleting()) Delete(PodPath(pod.metadata.name));
    for (const GangOf& gang : kGangs)
      for (int i = 0; i < gang.most; ++i)
        if (!lab_->Get<api::Pod>("default", fmt::format("{}-{}", gang.name, i))) Member(gang, i);
    Start();
  }

  // --- what must hold ---
  void Pass(Duration by) {
    const MonoTime end = lab_->clock().Mono() + by;
    while (broken_.empty() && lab_->clock().Mono() < end &&
           lab_->AdvanceToWrite(end - lab_->clock().Mono()))
      Watch();
    lab_->Advance(std::max(Duration::zero(), end - lab_->clock().Mono()));
    Watch();
  }
  // For the reader of a failure.
  std::string Where() {
    std::vector<std::string> lines;
    for (const api::Pod& pod : lab_->List<api::Pod>())
      lines.push_back(fmt::format("{} on \"{}\" through {}", pod.metadata.name, pod.spec.node_name,
                                  pod.metadata.Annotation(api::key::kQuotaName)));
    for (const api::Quota& quota : lab_->List<api::Quota>())
      lines.push_back(fmt::format("{} on \"{}\"", quota.metadata.name, quota.status.node_name));
    return fmt::format("{}", fmt::join(lines, "\n"));
  }
  std::string Unquiet(const char* when) {
    const Look before = Look::At(lab_->api());
    lab_->Advance(3min);
    const auto news = Look::At(lab_->api()).Since(before);
    if (!news.empty()) return fmt::format("{}: {}", when, fmt::join(news, "\n"));
    if (!lab_->scheduler()->Idle()) return fmt::format("{}: something never ends", when);
    return lab_->scheduler()->cache().Audit();
  }
  void Watch();
  std::string Rules(const api::Pod& pod, const std::vector<api::Pod>& pods);

  Rng rng_;
  // Streams break off, or tell what happened in another order. Not both: whoever has heard of a
  // later event would never hear of the earlier one, which no API server does.
  const bool cuts_;
  std::unique_ptr<Simulation> lab_;
  std::string history_, broken_, cordoned_;
  std::set<std::string> seen_;  // UIDs of bound pods
};

void Forgers::Watch() {
  const std::vector<api::Pod> pods = lab_->List<api::Pod>();
  for (const api::Pod& pod : pods) {
    if (pod.spec.node_name.empty() || pod.spec.scheduler_name == "other" ||
        !seen_.insert(pod.metadata.uid).second)
      continue;
    const std::string wrong = Rules(pod, pods);
    if (!wrong.empty() && broken_.empty())
      broken_ = fmt::format("{} on {} through {}: {}", pod.metadata.name, pod.spec.node_name,
                            pod.metadata.Annotation(api::key::kQuotaName), wrong);
  }
}

// What the binding of `pod` just now breaks, by the facts in the API alone.
std::string Forgers::Rules(const api::Pod& pod, const std::vector<api::Pod>& pods) {
  // n0 n1 under S1, n2 n3 under S2; n4 and n5 under S3 with different cards; n6 in no zone.
  const auto zone_of = [](const std::string& node) {
    return std::map<std::string, int>{{"n0", 1}, {"n1", 1}, {"n2", 2}, {"n3", 2},
                                      {"n4", 3}, {"n5", 4}, {"n6", 5}}
        .at(node);
  };
  const std::string group(pod.metadata.Annotation(api::key::kGroupName)),
      quota(pod.metadata.Annotation(api::key::kQuotaName)), node = pod.spec.node_name;
  if (!quota.starts_with(group == "b" ? "o-" : "q-")) return "not a quota of its queue";
  const auto selected = pod.spec.node_selector.find("disk");
  if (selected != pod.spec.node_selector.end() && node != "n5" && node != "n6")
    return "without the label that it asks for";
  int64_t on_node = 0, in_quota = 0;
  for (const api::Pod& other : pods) {
    if (other.spec.node_name.empty()) continue;
    const int64_t gpus = other.spec.containers[0].resources.limits.at(kGpu).Value();
    if (other.spec.node_name == node) on_node += gpus;
    if (other.metadata.deleting()) continue;
    if (other.metadata.Annotation(api::key::kQuotaName) == quota) {
      in_quota += gpus;
      if (other.spec.node_name != node) return "its quota is on " + other.spec.node_name;
    }
    const bool sibling = other.metadata.Annotation(api::key::kGroupName) == group;
    if (sibling && (group == "a" || group == "b") && zone_of(other.spec.node_name) != zone_of(node))
      return fmt::format("{} is on {}: another zone", other.metadata.name, other.spec.node_name);
  }
  if (const int64_t all = node < "n4" ? 8 : 4; on_node > all)
    return fmt::format("{} GPUs of {} are used", on_node, all);
  if (in_quota > 2) return fmt::format("its quota holds {} of 2", in_quota);
  return {};
}

class Forged : public ::testing::TestWithParam<framework::CommitOrder> {};

constexpr uint64_t kSeeds = 2;

TEST_P(Forged, PlacementsBindNobodyWhereHisGangsRulesDontAllowItAndEverybodyFindsAPlace) {
  size_t bound = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Forgers forgers(seed, GetParam());
    forgers.Play(25);
    const std::string wrong = forgers.Wrong();
    ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << forgers.history();
    bound += forgers.bound();
  }
  EXPECT_GT(bound, kSeeds * 10) << "everybody once, and some again";
}

INSTANTIATE_TEST_SUITE_P(BothOrders, Forged, kBothOrders, OrderName);

}  // namespace
}  // namespace sky::lab
