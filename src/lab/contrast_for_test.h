// SPDX-License-Identifier: Apache-2.0
// Two configurations, one script, and what must come of it in each: how a test sees that a switch
// of the configuration does something, and that nothing else does it. Also one configuration as
// another would be without one of its plugins.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "lab/play_for_test.h"
#include "scheduler/known.h"

namespace sky::lab {

// The configuration that YAML describes; what is wrong with it ends the test.
inline framework::Config ConfigOf(std::string_view yaml) {
  auto loaded = framework::LoadConfig(yaml, "config", scheduler::AllKnown().Known());
  SKY_CHECK(loaded.has_value(), "{}", loaded.error().message());
  return std::move(loaded->config);
}

struct Witness {
  std::string config;  // YAML of both
  std::string script;
  // Expectations, each of which holds in one and in the other doesn't.
  std::string with, without;
};

inline int Statements(const std::string& script) {
  return static_cast<int>(ReadScript(script, "script")->size());
}

inline void ExpectContrast(const framework::Config& one, const framework::Config& other,
                           const Witness& witness) {
  Play first(one), second(other);
  EXPECT_EQ(first.Failures(witness.script), 0) << first.shown();
  EXPECT_EQ(second.Failures(witness.script), 0) << second.shown();
  EXPECT_EQ(first.Failures(witness.with), 0) << first.shown();
  EXPECT_EQ(second.Failures(witness.without), 0) << second.shown();
  EXPECT_EQ(first.Failures(witness.without), Statements(witness.without)) << first.shown();
  EXPECT_EQ(second.Failures(witness.with), Statements(witness.with)) << second.shown();
}

// --- what several tables need ---

inline std::string SwitchName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

// A little of everything, with room for all of it: jobs come, end, lose members and nodes, and the
// scheduler starts anew.
inline constexpr const char* kLife = R"(
leaf S1 n[0-3] gpu=8 hca=8 spot=8
leaf S2 n[4-7] gpu=8 hca=8 spot=8
quotas q-[0-9] gpu=4 hca=4
quotas one-[0-9] gpu=1
job train 4 gpu=4 hca=4 strict
job plain 2 gpu=1
pod alone gpu=1
tick 5s
expect train placed 4
expect plain placed 2
expect alone on n[0-7]
finish plain-0
delete pod train-1 now
pod train-1 gpu=4 hca=4 group=train
tick 11s
expect train placed 4
fail n7
delete node n6
kill
start
job more 2 gpu=1 hca=1
tick 3s
calm 5
audit
)";

// Two of four members are there.
inline constexpr const char* kHalfAGang = R"(
nodes n[0-3] gpu=1
quotas q-[0-3] gpu=1
group train min=4
pod train-[0-1] gpu=1 group=train
tick 5s
calm 5
)";

// Nobody mounts anything here.
inline constexpr const char* kMounts = R"(
apply <<END
apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations: {scheduling.infini-ai.com/required-mount-points: mp001}
spec:
  schedulerName: sky-scheduler
  containers: [{name: main, image: work, resources: {limits: {nvidia.com/gpu: "1"}}}]
END
tick 2s
)";

// Gang would send any spot pod away, conformance not those of the system.
inline Witness SystemSpotPodInTheWay() {
  return {"minRunTime: 1s", R"(
nodes n0 gpu=8 spot=8
quotas q gpu=8
pod system spot=8 ns=kube-system
tick 5s
job train 1 gpu=8
tick 1m
)",
          "expect train placed 0\nexpect system on n0 ns=kube-system\n", "expect train placed 1\n"};
}

}  // namespace sky::lab
