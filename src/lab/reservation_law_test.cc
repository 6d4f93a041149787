// SPDX-License-Identifier: Apache-2.0
// What is kept for a lost member has exactly one heir: its successor while it is kept, anybody
// else afterwards, and around that moment one of them (F30, F31), on whatever node is alive.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "lab/play_for_test.h"

namespace sky::lab {
namespace {

constexpr int kKept = 60'000;  // ms

enum class Death { kNever, kBefore, kWith, kAfter };

// A gang of two on n0 and n1 of three nodes; n2 is free when `spare`, else taken.
struct Scene {
  int arrival;  // of the successor, ms after its predecessor went
  Death death;
  int later;  // ms, for kAfter
  bool stranger, spare, two, restart;
};

Scene AnyScene() {
  return {
      *rc::gen::element(1, 20'000, kKept - 1001, kKept - 21, kKept - 1, kKept, kKept + 1,
                        kKept + 21, kKept + 1001, kKept + 20'000),
      *rc::gen::element(Death::kNever, Death::kNever, Death::kBefore, Death::kWith, Death::kAfter),
      *rc::gen::element(1, 1000, 30'000),
      *rc::gen::arbitrary<bool>(),
      *rc::gen::arbitrary<bool>(),
      *rc::gen::arbitrary<bool>(),
      *rc::gen::arbitrary<bool>()};
}

RC_GTEST_PROP(ReservationLaw, APlaceThatIsKeptHasOneHeir, ()) {
  const Scene scene = AnyScene();
  Play play;
  play.Run(
      "config <<END\nreservationTTL: 60s\nEND\n"
      "leaf S1 n[0-2] gpu=4 hca=4\nquotas q-[0-1] gpu=4 hca=4\n"
      "job train 2 gpu=4 hca=4\ntick 2s\n");
  RC_ASSERT(play.Passes("expect train placed 2\n"));
  // The quota of train-1 is the only one that anybody could have, here or on n2.
  if (!scene.spare) play.Run("quotas fill gpu=4 hca=4\npod filler gpu=4 hca=4\ntick 2s\n");
  if (scene.death == Death::kBefore) play.Run("fail n1\ntick 1s\n");
  play.Run(std::string("delete pod train-1 now\n") +
           (scene.death == Death::kWith ? "fail n1\n" : ""));
  if (scene.stranger) play.Run("job stranger 1 gpu=4 hca=4 off\n");
  int at = 0;
  const auto until = [&](int moment) {
    if (moment > at) play.Run(fmt::format("tick {}ms\n", moment - at));
    at = std::max(at, moment);
  };
  const bool dies_first = scene.death == Death::kAfter && scene.later <= scene.arrival;
  if (dies_first) until(scene.later), play.Run("fail n1\n");
  until(scene.arrival);
  if (scene.restart) play.Run("kill\nstart\n");
  // Two that could both follow: the rank stands in the name of the first alone.
  play.Run("pod train-1 gpu=4 hca=4 group=train\n");
  if (scene.two) play.Run("pod train-x gpu=4 hca=4 group=train\n");
  if (scene.death == Death::kAfter && !dies_first) until(scene.later), play.Run("fail n1\n");
  play.Run("tick 3s\n");
  const bool alive = scene.death == Death::kNever;
  const bool early = scene.arrival <= kKept - 1001, late = scene.arrival >= kKept + 20'000;
  if (alive && early) {
    if (const std::string failed = play.Failed("expect train-1 on n1\n"); !failed.empty())
      RC_FAIL(failed + "\n" + play.played());
  }
  if (alive && late && scene.stranger && play.Passes("expect train-1 on n1\n"))
    RC_FAIL("the stranger should have the place\n" + play.played());
  play.Run("tick 5m\n");
  // Never two on one quota or one node: the audit says so. And never nobody, where somebody could.
  const std::string audit = play.Failed("audit\n");
  if (!audit.empty()) RC_FAIL(audit + "\n" + play.played());
  if (alive) {
    const std::string pods = play.Run("show pods\n");
    const auto runs = [&](std::string_view pod) {
      const size_t row = pods.find(fmt::format("\n{} ", pod));
      return row != pods.npos &&
             pods.substr(row, pods.find('\n', row + 1) - row).contains("Running");
    };
    const int on = runs("train-1") + runs("train-x") + runs("stranger-0");
    if (on != 1) RC_FAIL(fmt::format("{} have the place\n{}\n{}", on, pods, play.played()));
  }
  RC_ASSERT(play.Passes("calm 5\n"));
}

}  // namespace
}  // namespace sky::lab
