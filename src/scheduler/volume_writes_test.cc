// SPDX-License-Identifier: Apache-2.0
#include "scheduler/volume_writes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scheduler/fake_writer_for_test.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using cache::VolumeWrite;
using cache::Written;

struct VolumeWritesTest : ::testing::Test {
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter api;
  bool leading = true;
  int looks = 0;
  VolumeWrites writes{loop, api, [this] { return leading; }, [this] { ++looks; }};
  VolumeWrite node{"d", "data", "uid-c", "7", "", "", "n1", "uid-p"};
  VolumeWrite volume{"d", "data", "uid-c", "7", "pv", "9", "n1", "uid-p"};

  std::string Send(const VolumeWrite& write) { return writes.Send(1, {write}); }
  void Taken() { FakeWriter::Answer(api.claim_patches, Result<Written>(Written{})); }
};

TEST_F(VolumeWritesTest, TheNodeIsSaidOnceAndUnderTheVersionThatWasRead) {
  EXPECT_EQ(Send(node), "");
  EXPECT_EQ(Send(node), "");
  ASSERT_EQ(api.claim_patches.size(), 1u);
  EXPECT_EQ(api.claim_patches[0].asked.first, "d/data");
  const auto body = nlohmann::json::parse(api.claim_patches[0].asked.second);
  EXPECT_EQ(body["metadata"]["resourceVersion"], "7");
  EXPECT_EQ(body["metadata"]["uid"], "uid-c");
  EXPECT_EQ(body["metadata"]["annotations"]["volume.kubernetes.io/selected-node"], "n1");
  Taken();
  EXPECT_EQ(Send(node), "") << "the watch hasn't shown it yet";
  EXPECT_TRUE(api.claim_patches.empty());
  EXPECT_EQ(looks, 1);
}

TEST_F(VolumeWritesTest, AVolumeIsGivenToItsClaim) {
  EXPECT_EQ(Send(volume), "");
  ASSERT_EQ(api.volume_patches.size(), 1u);
  const auto body = nlohmann::json::parse(api.volume_patches[0].asked.second);
  EXPECT_EQ(body["metadata"]["resourceVersion"], "9");
  EXPECT_EQ(body["spec"]["claimRef"]["uid"], "uid-c");
  EXPECT_EQ(body["spec"]["claimRef"]["name"], "data");
}

TEST_F(VolumeWritesTest, ANodeThatWasTakenOffAgainIsNoVolumesNode) {
  Send(node);
  Taken();
  node.claim_version = "8";  // and the annotation is gone
  EXPECT_EQ(Send(node), "no volume could be made for claim data on n1");
  EXPECT_EQ(writes.Send(2, {node}), "") << "another round may try";
}

TEST_F(VolumeWritesTest, AConflictWaitsForTheWatchAndARefusalEndsIt) {
  Send(node);
  FakeWriter::Refuse(api.claim_patches, Code::kConflict);
  loop.Advance(10s);
  EXPECT_EQ(Send(node), "");
  EXPECT_TRUE(api.claim_patches.empty());
  node.claim_version = "8";
  Send(node);
  ASSERT_EQ(api.claim_patches.size(), 1u);
  FakeWriter::Refuse(api.claim_patches, Code::kForbidden);
  EXPECT_EQ(Send(node), "the API server refused to change claim d/data: no");
  writes.Forget(1);
  node.claim_version = "9";
  EXPECT_EQ(Send(node), "");
}

TEST_F(VolumeWritesTest, AnAnswerThatDidntComeIsAskedForAgain) {
  Send(node);
  FakeWriter::Refuse(api.claim_patches, Code::kUnknownOutcome);
  EXPECT_EQ(Send(node), "");
  EXPECT_TRUE(api.claim_patches.empty());
  loop.Advance(1s);
  EXPECT_EQ(looks, 1);
  Send(node);
  EXPECT_EQ(api.claim_patches.size(), 1u);
}

TEST_F(VolumeWritesTest, WithoutTheLeaseNothingIsWritten) {
  leading = false;
  EXPECT_EQ(Send(node), "");
  node.node.clear();
  writes.Clear({node});
  EXPECT_TRUE(api.claim_patches.empty());
}

TEST_F(VolumeWritesTest, WhatAnEndedDecisionSaidIsTakenBackOnce) {
  node.node.clear();
  writes.Clear({node});
  writes.Clear({node});
  ASSERT_EQ(api.claim_patches.size(), 1u);
  const auto body = nlohmann::json::parse(api.claim_patches[0].asked.second);
  EXPECT_TRUE(body["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].is_null());
  Taken();
  writes.Clear({});
  writes.Clear({node});
  EXPECT_EQ(api.claim_patches.size(), 1u) << "it was gone, and is there again";
}

}  // namespace
}  // namespace sky::scheduler
