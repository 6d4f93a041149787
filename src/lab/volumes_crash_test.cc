// SPDX-License-Identifier: Apache-2.0
// kill -9 after every write, of the scheduler's and of the volume controllers', while the volumes
// of a gang are chosen and made: the end is the same each time, every claim has the volume that its
// pod's node reaches, and nothing that was said for a decision that died is left behind.
#include <gtest/gtest.h>

#include "api/keys.h"
#include "lab/scene_for_test.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

// train-0 takes a disk that is on n1, train-1 gets one made.
class Stage {
 public:
  explicit Stage(framework::CommitOrder order) {
    SimulationOptions options;
    options.config = framework::DefaultConfig(scheduler::AllKnown().Known());
    options.config.commit_order = order;
    lab_ = *Simulation::Create(std::move(options));
    for (const char* name : {"n0", "n1"})
      MakeIn(*lab_, testing::MakeNode(name, *testing::ReadWords("gpu=8")));
    for (const char* name : {"q-0", "q-1"})
      MakeIn(*lab_, testing::MakeQuota(name, *testing::ReadWords("gpu=8")));
    Make(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},
             "provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
    Make(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"made"},
             "provisioner":"d.com","volumeBindingMode":"WaitForFirstConsumer"})");
    Make(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"},"spec":{
             "storageClassName":"local","accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},
             "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
               {"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}]}]}}}})");
    MakeIn(*lab_, testing::MakeGroup("train", 2, {}));
    int number = 0;
    for (const char* storage : {"local", "made"}) {
      const std::string name = fmt::format("train-{}", number++);
      Make(fmt::format(
          R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}"}},"spec":{{
               "storageClassName":"{}","accessModes":["ReadWriteOnce"],
               "resources":{{"requests":{{"storage":"1Gi"}}}}}}}})",
          name, storage));
      api::Pod pod = testing::MakeWorker("train", name, *testing::ReadWords("gpu=8"));
      api::Volume& volume = pod.spec.volumes.emplace_back();
      volume.name = "data";
      volume.persistent_volume_claim = {name};
      MakeIn(*lab_, pod);
    }
    lab_->Advance(1s);
  }

  bool RunAndDieAfter(int n) {
    lab_->StartScheduler();
    for (int i = 0; i < n; ++i)
      if (!lab_->AdvanceToWrite(10s)) return false;
    lab_->KillScheduler();
    lab_->StartScheduler();
    lab_->Advance(30s);
    return true;
  }
  void Run() {
    lab_->StartScheduler();
    lab_->Advance(30s);
  }
  std::string End() {
    std::string text = lab_->scheduler()->cache().Audit();
    for (const api::Pod& pod : lab_->List<api::Pod>())
      text += fmt::format("{} {} on {}\n", pod.metadata.name, pod.status.phase, pod.spec.node_name);
    for (const auto& claim : lab_->List<api::PersistentVolumeClaim>())
      text += fmt::format("{} {} {}\n", claim.metadata.name, claim.status.phase,
                          claim.metadata.Annotation(api::key::kSelectedNode));
    for (const auto& volume : lab_->List<api::PersistentVolume>())
      text += fmt::format("volume of {}: {}\n", volume.spec.claim_ref->name, volume.status.phase);
    return text;
  }

 private:
  void Make(std::string_view json) {
    const Status made = lab_->Apply(json);
    ASSERT_TRUE(made.has_value()) << made.error().message();
  }
  std::unique_ptr<Simulation> lab_;
};

class VolumesCrash : public ::testing::TestWithParam<framework::CommitOrder> {};

TEST_P(VolumesCrash, AfterAnyWriteTheEndIsTheSame) {
  Stage whole(GetParam());
  whole.Run();
  const std::string end = whole.End();
  EXPECT_NE(end.find("train-0 Running on n1\ntrain-1 Running on n0\n"), std::string::npos) << end;
  EXPECT_NE(end.find("train-0 Bound \ntrain-1 Bound n0\n"), std::string::npos) << end;
  int killed = 0;
  for (int n = 1; n < 100; ++n) {
    Stage stage(GetParam());
    if (!stage.RunAndDieAfter(n)) break;
    ++killed;
    EXPECT_EQ(stage.End(), end) << "killed after write " << n;
  }
  // The record, two words on volumes, three of the controllers, two bindings.
  EXPECT_GE(killed, 8);
  EXPECT_LT(killed, 99);
}

INSTANTIATE_TEST_SUITE_P(BothOrders, VolumesCrash, kBothOrders, OrderName);

}  // namespace
}  // namespace sky::lab
