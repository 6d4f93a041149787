// SPDX-License-Identifier: Apache-2.0
#include "model/volume_rules.h"

#include <gtest/gtest.h>

#include "api/json.h"
#include "api/keys.h"
#include "base/rng.h"
#include "model/facts.h"

namespace sky::model {
namespace {

template <class T>
api::Delta<T> Came(std::string_view json) {
  auto object = api::Decode<T>(json);
  SKY_CHECK(object.has_value(), "{}", object.error().message());
  return {api::Delta<T>::Type::kAdd, std::make_shared<const T>(std::move(*object)), nullptr};
}

// Nodes n1 and n2, a class of local volumes, and pods that name claims of namespace d.
struct VolumeRules : ::testing::Test {
  std::shared_ptr<Names> names = std::make_shared<Names>();
  Cluster cluster{names};
  Settings settings;
  std::set<TaskId> placed;

  VolumeRules() {
    for (const char* name : {"n1", "n2"})
      cluster.SetNode(
          std::make_shared<api::Node>(*api::Decode<api::Node>(fmt::format(
              R"({{"metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}"}}}}}})",
              name))),
          settings);
    cluster.ChangeVolumes(Came<api::StorageClass>(
        R"({"metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner",
            "volumeBindingMode":"WaitForFirstConsumer"})"));
  }
  NodeId Node(const char* name) { return cluster.nodes().Find(name); }
  void Claim(const std::string& name, const std::string& more = "") {
    cluster.ChangeVolumes(Came<api::PersistentVolumeClaim>(fmt::format(
        R"({{"metadata":{{"namespace":"d","name":"{0}","uid":"u-{0}"}},
             "spec":{{"storageClassName":"local","accessModes":["ReadWriteOnce"]{1}}}}})",
        name, more)));
  }
  void Volume(const std::string& name, const std::string& hostname,
              const std::string& size = "1Gi") {
    cluster.ChangeVolumes(Came<api::PersistentVolume>(fmt::format(
        R"({{"metadata":{{"name":"{}"}},"status":{{"phase":"Available"}},"spec":{{
             "storageClassName":"local","accessModes":["ReadWriteOnce"],"capacity":{{"storage":"{}"}},
             "nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[
               {{"key":"kubernetes.io/hostname","operator":"In","values":["{}"]}}]}}]}}}}}}}})",
        name, size, hostname)));
  }
  TaskId Pod(const std::string& name, const std::string& claim) {
    cluster.SetPod(MakePodFacts(std::make_shared<api::Pod>(*api::Decode<api::Pod>(fmt::format(
                                    R"({{"metadata":{{"namespace":"d","name":"{0}","uid":"u-{0}"}},
                 "spec":{{"schedulerName":"sky-scheduler",
                          "volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"{1}"}}}}]}}}})",
                                    name, claim))),
                                settings, *names));
    return cluster.tasks().Find("u-" + name);
  }
  void Place(TaskId task, const char* node) {
    cluster.SetClaim(task, {model::Claim::Phase::kToQuota, {}, Node(node), 0, false});
    placed.insert(task);
  }
  bool May(TaskId task, const char* node) {
    return VolumesOn(cluster, task, Node(node), placed).fit();
  }
};

TEST_F(VolumeRules, AClaimThatIsntThereIsNamed) {
  const TaskId pod = Pod("p", "data");
  EXPECT_FALSE(May(pod, "n1"));
  EXPECT_FALSE(ClaimsReady(cluster, pod));
  EXPECT_EQ(WhyVolumes(cluster, pod), "claim data doesn't exist");
  cluster.ChangeVolumes(VolumeChange("the scheduler can't read claims"));
  EXPECT_EQ(WhyVolumes(cluster, pod), "claim data: the scheduler can't read claims");
}

TEST_F(VolumeRules, TwoTasksDontCountOnOneVolume) {
  Claim("a"), Claim("b");
  Volume("pv", "n1");
  const TaskId first = Pod("p", "a"), second = Pod("q", "b");
  EXPECT_TRUE(May(first, "n1"));
  EXPECT_FALSE(May(first, "n2"));
  Place(first, "n1");
  EXPECT_TRUE(May(first, "n1")) << "its own volume isn't taken from it";
  EXPECT_FALSE(May(second, "n1"));
  Volume("pv2", "n1");
  EXPECT_TRUE(May(second, "n1"));
}

// The first in order takes the smallest that will do, whoever was asked about first.
TEST_F(VolumeRules, AnEarlierTaskIsntRobbedByALaterQuestion) {
  Claim("a", R"(,"resources":{"requests":{"storage":"5Gi"}})"), Claim("b");
  Volume("large", "n1", "10Gi"), Volume("small", "n1", "1Gi");
  const TaskId small = Pod("p", "b"), large = Pod("q", "a");
  Place(large, "n1");
  EXPECT_TRUE(May(small, "n1"));
  std::set<std::string> taken;
  std::vector<VolumeStep> steps;
  ASSERT_TRUE(ChooseVolumes(cluster, small, cluster.nodes()[Node("n1")], taken, steps));
  EXPECT_EQ(steps.at(0).volume, "small");
  ASSERT_TRUE(ChooseVolumes(cluster, large, cluster.nodes()[Node("n1")], taken, steps));
  EXPECT_EQ(steps.at(1).volume, "large");
}

TEST_F(VolumeRules, AClaimWhoseNodeWasSaidGoesNowhereElse) {
  cluster.ChangeVolumes(Came<api::StorageClass>(
      R"({"metadata":{"name":"made"},"provisioner":"d","volumeBindingMode":"WaitForFirstConsumer"})"));
  cluster.ChangeVolumes(Came<api::PersistentVolumeClaim>(
      R"({"metadata":{"namespace":"d","name":"c",
          "annotations":{"volume.kubernetes.io/selected-node":"n2"}},
          "spec":{"storageClassName":"made"}})"));
  const TaskId pod = Pod("p", "c");
  EXPECT_FALSE(May(pod, "n1"));
  EXPECT_TRUE(May(pod, "n2"));
  EXPECT_EQ(WhyVolumes(cluster, pod), "claim c is tied to n2");
}

TEST_F(VolumeRules, AClaimForOnePodIsFreeWhenThatPodHasEnded) {
  Volume("pv", "n1");
  cluster.ChangeVolumes(Came<api::PersistentVolumeClaim>(
      R"({"metadata":{"namespace":"d","name":"c","annotations":{"pv.kubernetes.io/bind-completed":"y"}},
          "spec":{"volumeName":"pv","accessModes":["ReadWriteOncePod"]}})"));
  const TaskId first = Pod("p", "c"), second = Pod("q", "c");
  Place(first, "n1");
  EXPECT_FALSE(May(second, "n1"));
  EXPECT_EQ(WhyVolumes(cluster, second), "claim c is for one pod at a time, and p uses it");
  const uint64_t tick = cluster.jobs()[cluster.tasks()[second].job].tick;
  placed.erase(first);
  cluster.RemovePod("u-p");
  EXPECT_TRUE(May(second, "n1"));
  EXPECT_GT(cluster.jobs()[cluster.tasks()[second].job].tick, tick) << "its job wakes";
}

// A snapshot that follows at any moments answers as the cluster that it follows.
TEST(Volumes, ACopyThatFollowsIsEqual) {
  Rng rng(7);
  Volumes all, copy;
  const auto name = [&](const char* kind) { return fmt::format("{}{}", kind, rng.Below(6)); };
  const auto come = [&](auto object, bool gone) {
    using T = decltype(object);
    using Type = typename api::Delta<T>::Type;
    all.Apply(api::Delta<T>{gone ? Type::kDelete : Type::kAdd,
                            std::make_shared<const T>(std::move(object)), nullptr});
  };
  std::set<std::pair<std::string, TaskId>> uses;
  for (int step = 0; step < 20'000; ++step) {
    const bool gone = rng.Below(3) == 0;
    if (rng.Below(2) == 0) {
      api::PersistentVolumeClaim claim;
      claim.metadata.namespace_ = "d";
      claim.metadata.name = name("c");
      if (rng.Below(2) == 0)
        claim.metadata.annotations.insert_or_assign(std::string(api::key::kNodeSelectedFor), "u");
      come(claim, gone);
    } else {
      api::PersistentVolume volume;
      volume.metadata.name = name("v");
      volume.status.phase = "Available";
      volume.spec.storage_class_name = name("s");
      if (rng.Below(2) == 0) {
        volume.spec.claim_ref.emplace();
        volume.spec.claim_ref->namespace_ = "d";
        volume.spec.claim_ref->name = name("c");
      }
      come(volume, gone);
    }
    const std::pair use(name("d/c"), TaskId(rng.Below(4)));
    if (uses.insert(use).second)
      all.AddUser(use.first, use.second);
    else
      all.RemoveUser(use.first, use.second), uses.erase(use);
    if (rng.Below(50) != 0) continue;
    copy.Follow(all);
    ASSERT_EQ(copy.used(), all.used());
    ASSERT_EQ(copy.chosen(), all.chosen());
    for (int i = 0; i < 6; ++i) {
      const std::string claim = fmt::format("d/c{}", i), volume = fmt::format("v{}", i);
      ASSERT_EQ(copy.FindClaim(claim) == nullptr, all.FindClaim(claim) == nullptr);
      if (all.FindClaim(claim) != nullptr) {
        ASSERT_EQ(copy.FindClaim(claim)->object, all.FindClaim(claim)->object);
        ASSERT_EQ(copy.FindClaim(claim)->users, all.FindClaim(claim)->users);
      }
      ASSERT_EQ(copy.FindVolume(volume), all.FindVolume(volume));
      const auto free = [&](const Volumes& one) {
        std::set<std::string> found;
        one.EachFree(fmt::format("s{}", i), "",
                     [&](const api::PersistentVolume& it) { found.insert(it.metadata.name); });
        return found;
      };
      ASSERT_EQ(free(copy), free(all));
      const auto* reserved = all.ReservedFor(claim);
      ASSERT_EQ(copy.ReservedFor(claim) == nullptr, reserved == nullptr);
      if (reserved != nullptr) {
        ASSERT_EQ(*copy.ReservedFor(claim), *reserved);
      }
    }
  }
}

}  // namespace
}  // namespace sky::model
