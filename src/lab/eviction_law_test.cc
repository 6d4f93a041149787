// SPDX-License-Identifier: Apache-2.0
// Nobody is sent away for nothing: whom a spot pod gave way to starts, whatever the API server
// refuses meanwhile and however often the scheduler is killed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include <rapidcheck/gtest.h>

#include "lab/play_for_test.h"

namespace sky::lab {
namespace {

// "… gives way to job default/NAME on …" in events.
void AddNamed(const std::string& events, std::set<std::string>& jobs) {
  constexpr std::string_view kBefore = "gives way to job default/";
  for (size_t at = events.find(kBefore); at != events.npos; at = events.find(kBefore, at + 1)) {
    const size_t start = at + kBefore.size();
    jobs.insert(events.substr(start, events.find(' ', start) - start));
  }
}

constexpr const char* kBudget =
    "apply <<END\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"
    "spec: {minAvailable: 1, selector: {}}\nEND\n";

// What its controller would write: so many may go now.
std::string Allow(int many) {
  return fmt::format(
      "patch poddisruptionbudget b status {{\"observedGeneration\": 1, \"disruptionsAllowed\": "
      "{0}, "
      "\"currentHealthy\": {1}, \"desiredHealthy\": 1, \"expectedPods\": {1}}}\n",
      many, many + 1);
}

RC_GTEST_PROP(Evictions, EndInTheStartOfWhomTheyName, ()) {
  Play play;
  play.Run(fmt::format("config <<END\ncommitOrder: {}\nminRunTime: {}s\nclaimTimeout: {}s\nEND\n",
                       *rc::gen::element("quotaFirst", "placementFirst"),
                       *rc::gen::element(0, 5, 40), *rc::gen::element(10, 60)));
  play.Run(
      "leaf S1 n[0-1] gpu=4 hca=4 spot=4\nleaf S2 n[2-3] gpu=4 hca=4 spot=4\n"
      "quotas all-[0-3] gpu=4 hca=4\nquotas one-[0-9] gpu=1 hca=1\ntick 1ms\n");
  const bool budget = *rc::gen::arbitrary<bool>();
  if (budget) play.Run(kBudget);
  std::set<std::string> named;
  std::map<std::string, int> members;
  const int steps = *rc::gen::inRange(4, 25);
  int made = 0;
  bool up = true;
  for (int i = 0; i < steps; ++i) {
    std::string text;
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
      case 1:
        text = fmt::format("job s{} {} spot={} min=1\n", made++, *rc::gen::inRange(1, 6),
                           *rc::gen::element(1, 2, 4));
        break;
      case 2:
      case 3:
      case 4:
        members[fmt::format("j{}", made)] = *rc::gen::inRange(1, 3);
        text = fmt::format("job j{0} {1} {2}\n", made, members[fmt::format("j{}", made)],
                           *rc::gen::element("gpu=4 hca=4", "gpu=1 hca=1", "gpu=4 hca=4 strict"));
        ++made;
        break;
      case 5:
        text = fmt::format(
            "fault <<END\nfaults:\n- match: {{verb: create, resource: pods, subresource: eviction, "
            "nth: {}, count: {}}}\n  action: {}\nEND\n",
            *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4),
            *rc::gen::element("{refuse: {code: 500}}", "{refuse: {code: 429}}",
                              "{dropAnswer: true}", "{dropRequest: true}"));
        break;
      case 6:
        text = up ? "kill\n" : "start\n";
        up = !up;
        break;
      default:
        break;
    }
    if (budget && *rc::gen::inRange(0, 3) == 0) text += Allow(*rc::gen::inRange(0, 4));
    text += fmt::format("tick {}ms\n", *rc::gen::element(1, 21, 100, 1000, 6000, 45000));
    AddNamed(play.Run(text + "show events\n"), named);
  }
  play.Run(std::string(up ? "" : "start\n") + "mend\n" + (budget ? Allow(20) : ""));
  AddNamed(play.Run("tick 10m\nshow events\n"), named);
  RC_CLASSIFY(!named.empty(), "somebody was evicted");
  for (const std::string& job : named)
    if (const std::string failed =
            play.Failed(fmt::format("expect {} placed {}\n", job, members.at(job)));
        !failed.empty())
      RC_FAIL(failed + "\n" + play.played());
  RC_ASSERT(play.Passes("calm 5\naudit\n"));
}

}  // namespace
}  // namespace sky::lab
