// SPDX-License-Identifier: Apache-2.0
// The whole system while somebody edits everything by hand: pods bound elsewhere, deleted,
// finished, claimed by strangers, statuses scribbled over, nodes and quotas that go and come.
// Afterwards the scheduler's memory is what a fresh start would read, and nothing is written any
// more.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "lab/scenario.h"

namespace sky::lab {
namespace {

class ByHand {
 public:
  explicit ByHand(uint64_t seed) : rng_(seed) {}

  // Everything that happens, as a script.
  std::string Script() {
    std::string script =
        "leaf S1 n[0-2] gpu=4 hca=4\nleaf S2 n[3-5] gpu=4 hca=4\nqueue other\n"
        "quotas q-[0-5] gpu=1 hca=1\nquotas o-[0-1] gpu=2 queue=other\n"
        "job a 3 gpu=1 hca=1\njob b 2 gpu=1 queue=other\ntick 1s\n";
    for (int i = 0; i < 25; ++i) script += Edit() + "\n";
    // Longer than healing waits, nodes are missed and back-offs last.
    return script + "tick 2m\naudit\ncalm 15\n";
  }

 private:
  std::string Any(const std::vector<std::string>& all) { return all[rng_.Below(all.size())]; }
  std::string Quota() { return Any({"q-0", "q-1", "q-2", "q-5", "o-0", "o-1"}); }
  std::string Node() { return Any({"n0", "n1", "n3", "n5", "nowhere"}); }
  std::string Edit() {
    switch (rng_.Below(10)) {
      case 0:
      case 1: {  // bound by hand: by us, a stranger, or with no right to the quota
        const std::string name = fmt::format("hand-{}", ++made_);
        return fmt::format("pod {} gpu=1 node={} quota={}{}{}", name, Node(), Quota(),
                           Any({"", " group=a", " group=b", " group=missing"}),
                           Any({"", "", " scheduler=stranger"}));
      }
      case 2:
        return fmt::format("pod free-{} gpu=1 hca=1 group={}", ++made_, Any({"a", "b", "missing"}));
      case 3:
        return "delete pod " + Pod() + Any({"", " now"});
      case 4:
        return Any({"finish ", "fail-pod "}) + Pod();
      case 5:
        return fmt::format(R"(patch quota {} status {{"nodeName": "{}"}})", Quota(),
                           Any({"n0", "n3", "nowhere"}));
      case 6:
        return fmt::format(
            R"(patch quota {} status {{"phase": "{}", "allocated": {{"nvidia.com/gpu": "7"}}, "tasks": {}}})",
            Quota(), Any({"QuotaBound", "QuotaEmpty"}),
            Any({"null", R"([{"namespace": "default", "name": "forged", "uid": "u"}])"}));
      case 7:
        return Any({"delete quota q-5\nquotas q-5 gpu=1", "delete node n5\ntick 1s\nnodes n5 gpu=2",
                    "delete queue other\ntick 1s\nqueue other", "cordon n1", "uncordon n1",
                    "fail n3", "return n3", "delete podgroup b\njob b 2 gpu=1 queue=other"});
      case 8:
        return fmt::format(R"(patch podgroup a {{"spec": {{"queue": "{}"}}}})",
                           Any({"default", "other"}));
      default:
        return Any({"tick 1s", "tick 7s", "cut", "cut\ncompact", "kill\nstart"});
    }
  }
  std::string Pod() {
    const int number = made_ == 0 ? 0 : static_cast<int>(rng_.Below(made_ + 1u));
    return Any(
        {"a-0", "a-1", "b-0", fmt::format("hand-{}", number), fmt::format("free-{}", number)});
  }

  Rng rng_;
  uint32_t made_ = 0;
};

// Statements about what isn't there may fail; what the scheduler remembers, and calm, may not.
TEST(ByHand, WhateverIsEditedTheLedgersAgreeWithTheFactsAndThenItIsCalm) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::string output;
    const auto failures = RunScript(ByHand(seed).Script(), "by hand",
                                    [&](std::string_view piece) { output += piece; });
    ASSERT_TRUE(failures.has_value()) << failures.error().message();
    EXPECT_EQ(output.find("the scheduler's ledgers differ"), std::string::npos) << output;
    EXPECT_TRUE(
        output.ends_with("> audit\nevery ledger equals its recount, and what a fresh start "
                         "would read\n> calm 15\ncalm\n"))
        << output;
  }
}

}  // namespace
}  // namespace sky::lab
