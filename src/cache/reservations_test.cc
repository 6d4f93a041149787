// SPDX-License-Identifier: Apache-2.0
// Places of lost members: for whom, until when, and that one successor gets each.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "api/keys.h"
#include "testing/cluster.h"

namespace sky::cache {
namespace {

using namespace std::chrono_literals;
using testing::Bound;
using testing::Cluster;
using testing::Gang;

constexpr std::string_view kConfig = "reservationTTL: 10m";

// Four members on n0 … n3 of S1; a fifth machine there, and a second zone.
class Kept : public ::testing::Test {
 protected:
  Kept() : c(kConfig) {
    c.Leaf("S1", "n[0-4]", "gpu=8 hca=8").Leaf("S2", "m[0-5]", "gpu=8 hca=8");
    c.Quotas("q-[0-3]", "gpu=8 hca=8");
    c.Job("train", 4, kAsks, Gang{4, ""});
    EXPECT_EQ(c.Cycle().size(), 4u);
    WriteStatuses();
  }

  static void WriteStatuses(Cluster& c) {
    for (const Picture& picture : c.cache().TakeStalePictures(1000))
      c.Edit<api::Quota>(picture.name, [&](api::Quota& quota) {
        const api::QuotaStatus before = quota.status;
        quota.status = picture.status;
        quota.status.shadow_resource = before.shadow_resource;
      });
  }
  void WriteStatuses() { WriteStatuses(c); }
  const std::vector<api::ReservedTask>& StatusOf(const std::string& quota) {
    WriteStatuses();
    return c.Get<api::Quota>(quota).status.reserved_tasks;
  }
  void Lose(const std::string& pod) { c.Remove<api::Pod>("default/" + pod); }
  void NodeDies(const std::string& name) {
    c.Edit<api::Node>(name, [](api::Node& node) { node.status.conditions.clear(); });
  }
  size_t CountKept() {
    WriteStatuses();
    size_t count = 0;
    for (const std::string& name : c.Keys<api::Quota>())
      count += c.Get<api::Quota>(name).status.reserved_tasks.size();
    return count;
  }
  // A cache that reads the objects, and takes over what they say is kept, agrees with this one.
  void ExpectRestartChangesNothing() {
    WriteStatuses();
    const auto fresh = c.Rebuilt(7);
    fresh->SetNow(c.now());
    fresh->AdoptReservations();
    EXPECT_EQ(fresh->Copy().Dump(), c.cache().Copy().Dump());
  }

  static constexpr const char* kAsks = "gpu=8 hca=8";
  Cluster c;
};

TEST_F(Kept, APlaceIsKeptForTenMinutesAndGoesToWhoeverHasTheRank) {
  Lose("train-2");
  ASSERT_EQ(StatusOf("q-2").size(), 1u);
  const api::ReservedTask kept = StatusOf("q-2")[0];
  EXPECT_EQ(kept.job, "default/train");
  EXPECT_EQ(kept.pod, "train-2");
  EXPECT_EQ(kept.index, 2);
  EXPECT_EQ(kept.expires.at, c.now().wall + 10min);
  EXPECT_EQ(c.Get<api::Quota>("q-2").status.node_name, "n2");
  ExpectRestartChangesNothing();
  c.Pod("stranger", kAsks);
  EXPECT_TRUE(c.Cycle().empty());
  const auto why = c.result().refusals.find(c.snapshot().jobs().Find("pod:default/stranger"));
  ASSERT_NE(why, c.result().refusals.end());
  EXPECT_TRUE(why->second.counts.contains(model::Reason::kReservedForOther));
  c.Workers("train", 2, 2, kAsks);
  EXPECT_EQ(c.Cycle(), (std::vector<Bound>{{"train-2", "q-2", "n2"}}));
  EXPECT_EQ(CountKept(), 0u);
  ExpectRestartChangesNothing();
}

TEST_F(Kept, AGroupSaysHowLongItsPlacesAreKept) {
  const auto say = [&](const char* time) {
    c.Edit<api::PodGroup>("default/train", [&](api::PodGroup& group) {
      group.metadata.annotations.insert_or_assign(std::string(api::key::kReservationTTL), time);
    });
  };
  say("2m");
  Lose("train-1");
  ASSERT_EQ(StatusOf("q-1").size(), 1u);
  EXPECT_EQ(StatusOf("q-1")[0].expires.at, c.now().wall + 2min);
  c.Tick(2min + 1s);
  c.Cycle();
  EXPECT_EQ(CountKept(), 0u);
  say("0s");
  Lose("train-2");
  EXPECT_EQ(CountKept(), 0u);
  say("soon");
  Lose("train-3");
  ASSERT_EQ(StatusOf("q-3").size(), 1u);
  EXPECT_EQ(StatusOf("q-3")[0].expires.at, c.now().wall + 10min) << "the configuration's";
}

TEST_F(Kept, ASuccessorThatIsSeenHasTheTimeOnceMoreAndNobodyElseCanTakeIt) {
  Lose("train-1");
  c.Tick(10min);
  c.Edit<api::Node>("n1", [](api::Node& node) { node.status.conditions.clear(); });
  c.Workers("train", 1, 1, kAsks);
  EXPECT_TRUE(c.Cycle().empty());  // its node is away for the moment
  ASSERT_EQ(StatusOf("q-1").size(), 1u);
  EXPECT_EQ(StatusOf("q-1")[0].successor_uid, c.Get<api::Pod>("default/train-1").metadata.uid);
  EXPECT_EQ(StatusOf("q-1")[0].expires.at, c.now().wall + 10min);
  ExpectRestartChangesNothing();
}

TEST_F(Kept, TheHeirThatGoesLeavesItsPlaceToTheNextOne) {
  Lose("train-1");
  NodeDies("n1");
  c.Workers("train", 1, 1, kAsks);
  c.Cycle();
  Lose("train-1");
  c.Edit<api::Node>("n1", [](api::Node& node) {
    node.status.conditions = {{"Ready", "True", "", "", {}, {}, {}}};
  });
  c.Workers("train", 1, 1, kAsks);
  EXPECT_EQ(c.Cycle(), (std::vector<Bound>{{"train-1", "q-1", "n1"}}));
}

TEST_F(Kept, WhoNamesThePredecessorInheritsWhateverItsRank) {
  Lose("train-1");
  Lose("train-2");
  for (const auto& [pod, from] : {std::pair{"a-7", "train-2"}, std::pair{"b-8", "train-1"}}) {
    api::Pod made = testing::MakeWorker("train", pod, *testing::ReadWords(kAsks));
    made.metadata.annotations.insert_or_assign(std::string(api::key::kInheritResourceFrom), from);
    c.Put(made);
  }
  EXPECT_EQ(c.Cycle(), (std::vector<Bound>{{"a-7", "q-2", "n2"}, {"b-8", "q-1", "n1"}}));
}

TEST_F(Kept, PodsThatNameEachOtherInheritNothing) {
  Lose("train-1");
  for (const auto& [pod, from] : {std::pair{"a-1", "b-1"}, std::pair{"b-1", "a-1"}}) {
    api::Pod made = testing::MakeWorker("train", pod, *testing::ReadWords(kAsks));
    made.metadata.annotations.insert_or_assign(std::string(api::key::kInheritResourceFrom), from);
    c.Put(made);
  }
  c.Cycle();
  EXPECT_EQ(StatusOf("q-1").size(), 1u);
  EXPECT_EQ(StatusOf("q-1")[0].successor_uid, "");
}

TEST_F(Kept, NothingIsKeptForWhomTheGangDoesntNeed) {
  c.Edit<api::Pod>("default/train-0", [](api::Pod& pod) { pod.status.phase = "Succeeded"; });
  EXPECT_EQ(CountKept(), 0u);
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) { group.spec.min_member = 2; });
  Lose("train-1");
  EXPECT_EQ(CountKept(), 0u);
  Lose("train-2");  // one succeeded, one runs
  EXPECT_EQ(CountKept(), 0u);
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) { group.spec.min_member = 3; });
  Lose("train-3");
  EXPECT_EQ(CountKept(), 1u);
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) { group.spec.min_member = 1; });
  EXPECT_EQ(CountKept(), 0u);
}

TEST_F(Kept, NothingIsKeptForAGangThatEndedOrIsSuspended) {
  Lose("train-1");
  ASSERT_EQ(CountKept(), 1u);
  c.Edit<api::PodGroup>("default/train",
                        [](api::PodGroup& group) { group.status.phase = "Completed"; });
  EXPECT_EQ(CountKept(), 0u);
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) { group.status.phase = ""; });
  Lose("train-2");
  ASSERT_EQ(CountKept(), 1u);
  api::JobQueue line;
  line.metadata.namespace_ = "default";
  line.metadata.name = "line";
  line.spec.queue = "default";
  line.spec.job_selector.emplace();
  line.spec.suspended = true;
  c.Put(line);
  EXPECT_EQ(CountKept(), 0u);
}

TEST_F(Kept, ItGoesWithItsGroupAndNotToOneOfTheSameName) {
  Lose("train-1");
  ASSERT_EQ(CountKept(), 1u);
  const auto group = c.Get<api::PodGroup>("default/train");
  c.Remove<api::PodGroup>("default/train");
  api::PodGroup anew = group;
  anew.metadata.uid.clear();
  c.Put(anew);
  EXPECT_EQ(CountKept(), 0u);
}

TEST_F(Kept, ALargerSuccessorNeverGetsAPlaceAndSomethingBeside) {
  c.Quotas("small", "gpu=4 hca=4");
  c.Job("pair", 1, "gpu=4 hca=4");
  ASSERT_EQ(c.Cycle().size(), 1u);
  c.Edit<api::PodGroup>("default/pair", [](api::PodGroup& group) { group.spec.min_member = 1; });
  Lose("pair-0");
  ASSERT_EQ(StatusOf("small").size(), 1u);
  c.Workers("pair", 0, 0, "gpu=6 hca=6");
  EXPECT_TRUE(c.Cycle().empty());
  EXPECT_EQ(c.Why("default/pair"), "InsufficientQuota");
}

TEST_F(Kept, APodThatItsKubeletRefusedIsNotSentThereAgain) {
  c.Edit<api::Pod>("default/train-1", [](api::Pod& pod) {
    pod.status.phase = "Failed";
    pod.status.reason = "UnexpectedAdmissionError";
  });
  EXPECT_EQ(StatusOf("q-1").size(), 1u);
  EXPECT_EQ(c.Get<api::Quota>("q-1").status.node_name, "");
  c.Workers("train", 9, 9, kAsks);  // no successor of rank 1: it has its own rank
  c.Cycle();
  api::Pod again = testing::MakeWorker("train", "again-1", *testing::ReadWords(kAsks));
  c.Put(again);
  for (const Bound& bound : c.Cycle()) EXPECT_NE(bound.node, "n1");
}

// Whenever the successors come, in whatever number, and whenever its node dies: one of them at most
// is the heir, and the quota is used by one pod.
RC_GTEST_PROP(KeptLaw, EveryPlaceHasOneHeirWheneverItComesAndItsNodeDies, ()) {
  Cluster c("reservationTTL: 60s\nnodeLostAfter: 5s");
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q-[0-1]", "gpu=8 hca=8");
  c.Job("train", 2, "gpu=8 hca=8");
  RC_ASSERT(c.Cycle().size() == 2u);
  c.Remove<api::Pod>("default/train-1");
  const auto expiry = c.now().wall + 60s;
  const int arrivals = *rc::gen::inRange(1, 4);
  std::set<std::pair<int, int>> events;  // milliseconds from the expiry, and whose
  for (int i = 0; i < arrivals; ++i)
    events.insert({*rc::gen::element(-30'000, -2'000, -1, 0, 1, 400, 999, 1'001, 3'000), i});
  const bool dies = *rc::gen::arbitrary<bool>();
  if (dies) events.insert({*rc::gen::element(-40'000, -6'000, -5'000, -1, 0, 1, 5'000), -1});
  bool early = false;
  for (const auto& [at, who] : events) {
    const auto when = expiry + std::chrono::milliseconds(at);
    if (when > c.now().wall) c.Tick(when - c.now().wall);
    if (who < 0) {
      c.Edit<api::Node>("n1", [](api::Node& node) { node.status.conditions.clear(); });
    } else {
      early = early || at <= 0;
      c.Put(testing::MakeWorker("train", fmt::format("heir{}-1", who),
                                *testing::ReadWords("gpu=8 hca=8")));
    }
    c.Cycle();
    const model::Cluster rows = c.cache().Copy();
    const model::QuotaId quota = rows.quotas().Find("q-1");
    int heirs = 0;
    for (size_t t = 0; t < rows.tasks().size(); ++t)
      heirs += rows.tasks()[model::TaskId(t)].live && rows.tasks()[model::TaskId(t)].heir_of.valid()
                   ? 1
                   : 0;
    RC_ASSERT(heirs <= 1);
    RC_ASSERT(rows.quotas()[quota].tasks.size() <= 1u);
    RC_ASSERT(rows.quotas()[quota].tasks.empty() || rows.quotas()[quota].reserved_sum.IsZero());
  }
  for (int i = 0; i < 20; ++i) c.Tick(1s), c.Cycle();
  int bound = 0;
  std::string node;
  for (const std::string& name : c.Keys<api::Pod>()) {
    const api::Pod& pod = c.Get<api::Pod>(name);
    if (pod.metadata.Annotation(api::key::kQuotaName) != "q-1") continue;
    ++bound;
    node = pod.spec.node_name;
  }
  RC_ASSERT(bound == 1);
  if (early && !dies) RC_ASSERT(node == "n1");
}

}  // namespace
}  // namespace sky::cache
