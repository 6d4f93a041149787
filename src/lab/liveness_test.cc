// SPDX-License-Identifier: Apache-2.0
// Nobody waits for ever: a gang of any size gets its nodes under a stream of small jobs that takes
// every card as it gets free (F5), and of jobs that all end each one that can start does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include <rapidcheck/gtest.h>

#include "lab/play_for_test.h"

namespace sky::lab {
namespace {

class Stream {
 public:
  // `zones` switches with so many nodes of so many cards each.
  Stream(int zones, int nodes, int cards, const std::string& config)
      : cards_(zones * nodes * cards) {
    play.Run(fmt::format("config <<END\n{}END\n", config));
    for (int zone = 0; zone < zones; ++zone)
      play.Run(
          fmt::format("leaf S{} n{}-[0-{}] gpu={} hca={}\n", zone, zone, nodes - 1, cards, cards));
    play.Run(fmt::format("quotas small-[0-{}] gpu=1\n", 2 * cards_));
  }
  // As many small jobs as there are cards.
  void Fill() {
    std::string text;
    for (int i = 0; i < cards_; ++i) text += Small();
    play.Run(text + "tick 2s\n");
  }
  // Small jobs come, more than there is room for; each runs for at most 20 s.
  void Flow(int seconds) {
    for (int at = 0; at < seconds; at += 2) {
      std::string text;
      for (int i = 0; i < 1 + cards_ / 8; ++i) text += Small();
      play.Run(text + "tick 2s\n");
    }
  }
  Play play;

 private:
  std::string Small() {
    ++made_;
    return fmt::format("pod s{} gpu=1 run={}s\n", made_, 5 + made_ * 7 % 16);
  }

  int cards_, made_ = 0;
};

RC_GTEST_PROP(Liveness, AHeadOfAnySizeStartsUnderAStreamOfSmallJobs, ()) {
  const int zones = *rc::gen::inRange(1, 3), nodes = *rc::gen::inRange(1, 4),
            cards = *rc::gen::element(1, 2);
  const int members = *rc::gen::inRange(1, nodes + 1);
  const int each = *rc::gen::inRange(1, cards + 1);
  const bool rdma = *rc::gen::arbitrary<bool>();
  Stream stream(zones, nodes, cards, "starveAfter: 10s\n");
  const std::string amounts =
      rdma ? fmt::format("gpu={0} hca={0}", each) : fmt::format("gpu={}", each);
  stream.play.Run(fmt::format("quotas big-[0-{}] {}\n", members - 1, amounts));
  stream.Fill();
  stream.play.Run(fmt::format("job big {} {}{}\n", members, amounts,
                              *rc::gen::element("", " strict", " pack")));
  // It starves for 10 s; who runs there then ends within 20 s; then the next look at it.
  stream.Flow(10 + 20 + 5);
  RC_ASSERT(stream.play.Passes(fmt::format("expect big placed {}\n", members)));
}

// Jobs that end, among some that never can start. One behind the other they would take as long as
// the sum of their times; each start may take a look (naps are 30 s at the longest) and a refused
// binding's pause.
RC_GTEST_PROP(Liveness, OfJobsThatEndEachThatCanStartDoes, ()) {
  constexpr int kNodes = 3, kCards = 4, kLongest = 20, kLook = 35;
  Play play;
  const bool refused = *rc::gen::arbitrary<bool>();
  play.Run(fmt::format("config <<END\nstarveAfter: 10s\ncommitOrder: {}\nEND\n",
                       *rc::gen::element("quotaFirst", "placementFirst")));
  play.Run(fmt::format("leaf S1 n[0-{0}] gpu={1} hca={1}\nleaf S2 m[0-{0}] gpu={1} hca={1}\n",
                       kNodes - 1, kCards));
  play.Run(
      "quotas one-[0-29] gpu=1 hca=1\nquotas all-[0-5] gpu=4 hca=4\nqueue shut\n"
      "quotas shut-[0-5] gpu=4 hca=4 queue=shut\n"
      "patch queue shut status {\"state\":\"Closed\"}\n");
  if (refused)
    play.Run(
        "fault <<END\nfaults:\n- match: {verb: create, resource: pods, subresource: binding, "
        "nth: 2, count: 3}\n"
        "  action: {refuse: {code: 403}}\nEND\n");
  struct Sent {
    std::string name;
    int members;
    bool feasible;
  };
  std::vector<Sent> jobs;
  const int count = *rc::gen::inRange(2, 12);
  for (int i = 0; i < count; ++i) {
    Sent job{fmt::format("j{}", i), *rc::gen::inRange(1, kNodes + 1), true};
    std::string words = *rc::gen::element("gpu=1 hca=1", "gpu=4 hca=4", "gpu=1 hca=1 off",
                                          "gpu=4 hca=4 strict", "gpu=1 hca=1 pack");
    switch (*rc::gen::inRange(0, 10)) {
      case 0:
        words = "gpu=5 hca=5", job.feasible = false;
        break;
      case 1:
        words += " gated", job.feasible = false;
        break;
      case 2:
        words += " queue=shut", job.feasible = false;
        break;
      case 3:
        words += " select=room:nowhere", job.feasible = false;
        break;
      default:
        break;
    }
    const int run = *rc::gen::inRange(1, kLongest + 1);
    play.Run(fmt::format("job {} {} {} run={}s\ntick {}ms\n", job.name, job.members, words, run,
                         *rc::gen::element(1, 100, 3000)));
    jobs.push_back(std::move(job));
  }
  play.Run(fmt::format("tick {}s\n", count * (kLongest + kLook)));
  const std::string pods = play.Run("show pods\n");
  for (const Sent& job : jobs)
    for (int member = 0; member < job.members; ++member) {
      const size_t row = pods.find(fmt::format("\n{}-{} ", job.name, member));
      RC_ASSERT(row != pods.npos);
      const std::string line = pods.substr(row + 1, pods.find('\n', row + 1) - row - 1);
      const bool ended = line.contains("Succeeded");
      if (ended != job.feasible) RC_FAIL(line + "\n" + play.played());
    }
}

}  // namespace
}  // namespace sky::lab
