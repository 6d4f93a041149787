// SPDX-License-Identifier: Apache-2.0
// Where a job waited for room in vain is the last place that it tries (F29): as if those nodes
// weren't there, and only when nothing is left without them as if nothing had happened.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/cluster.h"

namespace sky::actions {
namespace {

using testing::Cluster;
using Names = std::vector<std::string>;

struct Case {
  int nodes = 2, cards = 4, members = 1, each = 1;
  bool rdma = false, spot_job = false;
  std::vector<int> spot;    // cards that a spot pod has on each node, 0: none
  std::vector<int> quotas;  // cards that a pod with a quota has there
  std::string words;        // of the gang
};

// pod@node of everything that is decided in one cycle. `gone`: nodes that aren't there.
Names Decided(const Case& one, const std::set<std::string>& gone, const Names& last) {
  Cluster c("minRunTime: 0s");
  for (int i = 0; i < one.nodes; ++i) {
    const std::string name = fmt::format("n{}", i);
    if (gone.contains(name)) continue;
    c.Leaf("S1", name, fmt::format("gpu={0} hca={0} spot={0}", one.cards));
    const auto at = static_cast<size_t>(i);
    if (one.spot[at] > 0) c.Pod("spot-" + name, fmt::format("spot={} node={}", one.spot[at], name));
    if (one.quotas[at] > 0)
      c.Quotas("used-" + name, fmt::format("gpu={}", one.quotas[at]))
          .Pod("used-" + name,
               fmt::format("gpu={0} node={1} quota=used-{1}", one.quotas[at], name));
  }
  c.Quotas(fmt::format("q-[0-{}]", one.members - 1),
           fmt::format("gpu={}{}", one.each, one.rdma ? fmt::format(" hca={}", one.each) : ""));
  const std::string asked = one.spot_job ? fmt::format("spot={}", one.each)
                            : one.rdma   ? fmt::format("gpu={0} hca={0}", one.each)
                                         : fmt::format("gpu={}", one.each);
  c.Job("train", one.members, asked, {0, one.words});
  c.cache().SetBackoff("default/train", model::Reason::kNone, "", last);
  Names places;
  for (const cache::Round& round : c.Decide())
    for (const cache::RoundEntry& entry : round.entries)
      places.push_back(entry.name + "@" + entry.node_name);
  return places;
}

RC_GTEST_PROP(LastNodes, AreTriedWhenNothingElseIsLeft, ()) {
  Case one;
  one.nodes = *rc::gen::inRange(1, 5);
  one.cards = *rc::gen::element(2, 4, 8);
  one.members = *rc::gen::inRange(1, 5);
  one.each = *rc::gen::inRange(1, one.cards + 1);
  one.rdma = *rc::gen::arbitrary<bool>();
  one.spot_job = !one.rdma && *rc::gen::inRange(0, 4) == 0;
  if (one.rdma) one.words = *rc::gen::element("", " strict", " pack");
  std::set<std::string> last;
  for (int i = 0; i < one.nodes; ++i) {
    const int spot = *rc::gen::inRange(0, one.cards + 1);
    one.spot.push_back(spot);
    one.quotas.push_back(spot < one.cards ? *rc::gen::inRange(0, one.cards - spot + 1) : 0);
    if (*rc::gen::arbitrary<bool>()) last.insert(fmt::format("n{}", i));
  }
  const Names named(last.begin(), last.end());
  const Names without = Decided(one, last, {}), all = Decided(one, {}, {});
  RC_CLASSIFY(!without.empty(), "elsewhere");
  RC_CLASSIFY(without.empty() && !all.empty(), "there all the same");
  RC_ASSERT(Decided(one, {}, named) == (without.empty() ? all : without));
}

}  // namespace
}  // namespace sky::actions
