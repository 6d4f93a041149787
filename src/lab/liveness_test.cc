// SPDX-License-Identifier: Apache-2.0
// Nobody waits for ever: a gang of any size gets its nodes under a stream of small jobs that takes
// every card as it gets free (F5).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "lab/scenario.h"

namespace sky::lab {
namespace {

class Stream {
 public:
  // `zones` switches with so many nodes of so many cards each.
  Stream(int zones, int nodes, int cards, const std::string& config)
      : cards_(zones * nodes * cards) {
    Run(fmt::format("config <<END\n{}END\n", config));
    for (int zone = 0; zone < zones; ++zone)
      Run(fmt::format("leaf S{} n{}-[0-{}] gpu={} hca={}\n", zone, zone, nodes - 1, cards, cards));
    Run(fmt::format("quotas small-[0-{}] gpu=1\n", 2 * cards_));
  }
  std::string Run(const std::string& text) {
    said_.clear();
    auto script = ReadScript(text, "liveness");
    RC_ASSERT(script.has_value());
    for (const Statement& statement : *script) scenario_.Run(statement);
    return said_;
  }
  // As many small jobs as there are cards.
  void Fill() {
    std::string text;
    for (int i = 0; i < cards_; ++i) text += Small();
    Run(text + "tick 2s\n");
  }
  // Small jobs come, more than there is room for; each runs for at most 20 s.
  void Flow(int seconds) {
    for (int at = 0; at < seconds; at += 2) {
      std::string text;
      for (int i = 0; i < 1 + cards_ / 8; ++i) text += Small();
      Run(text + "tick 2s\n");
    }
  }

 private:
  std::string Small() {
    ++made_;
    return fmt::format("pod s{} gpu=1 run={}s\n", made_, 5 + made_ * 7 % 16);
  }

  int cards_, made_ = 0;
  std::string said_;
  Scenario scenario_{[this](std::string_view text) { said_ += text; }};
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
  stream.Run(fmt::format("quotas big-[0-{}] {}\n", members - 1, amounts));
  stream.Fill();
  stream.Run(fmt::format("job big {} {}{}\n", members, amounts,
                         *rc::gen::element("", " strict", " pack")));
  // It starves for 10 s; who runs there then ends within 20 s; then the next look at it.
  stream.Flow(10 + 20 + 5);
  const std::string said = stream.Run(fmt::format("expect big placed {}\n", members));
  RC_ASSERT_FALSE(said.contains("FAILED"));
}

}  // namespace
}  // namespace sky::lab
