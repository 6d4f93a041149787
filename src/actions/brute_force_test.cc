// SPDX-License-Identifier: Apache-2.0
// Whole cycles against brute force: random small gangs in random small clusters, from objects to
// bindings.
#include "actions/brute_force_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sky::actions {
namespace {

// The same cases each time; others with --gtest_shuffle and another seed, so that --gtest_repeat=20
// of an optimised build sees 100,000. Under sanitizers a case takes 25 ms, a hundred times longer.
#ifdef __OPTIMIZE__
constexpr int kCases = 5000;
#else
constexpr int kCases = 150;
#endif
uint64_t First() {
  if (!GTEST_FLAG_GET(shuffle)) return 0;
  return static_cast<uint64_t>(::testing::UnitTest::GetInstance()->random_seed()) * 5000;
}

struct Outcome {
  Places places;
  std::string why, wrong;
  bool found = false;
  bool operator==(const Outcome&) const = default;
};

Outcome Schedule(const GangCase& gang, const Naming& naming, uint64_t shuffle) {
  testing::Cluster c;
  Tell(gang, naming, shuffle, c);
  const std::vector<testing::Bound> bound = c.Cycle();
  Outcome outcome;
  outcome.places.resize(gang.members.size());
  std::map<std::string, int> node_of, quota_of;
  for (size_t i = 0; i < gang.nodes.size(); ++i)
    node_of[naming.node(gang.nodes[i])] = static_cast<int>(i);
  for (size_t i = 0; i < gang.quotas.size(); ++i)
    quota_of[naming.quota(gang.quotas[i])] = static_cast<int>(i);
  for (size_t i = 0; i < gang.members.size(); ++i)
    for (const testing::Bound& one : bound)
      if (one.pod == naming.member(gang, i))
        outcome.places[i] = {quota_of.at(one.quota), node_of.at(one.node)};
  outcome.found = !bound.empty();
  outcome.why = c.Why("default/" + naming.group());
  if (c.result().conflicted) outcome.wrong = "the commit refused what was planned";
  return outcome;
}

// How a gang that has places stands: what the rules promise beyond finding some.
std::string Broken(const GangCase& gang, BruteForce& brute, const Places& places,
                   const BruteForce::Span& fewest) {
  if (std::string wrong = brute.Wrong(places); !wrong.empty()) return wrong;
  std::set<BruteForce::Cell> touched;
  std::vector<int> load(gang.nodes.size(), 0);
  int highest = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!gang.in_chain(gang.members[i])) continue;
    const int node = std::max(places[i].node, gang.members[i].node);
    ++load[static_cast<size_t>(node)];
    if (places[i].node >= 0) touched.insert(brute.CellOf(node));
  }
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i].node >= 0 && gang.in_chain(gang.members[i]))
      highest = std::max(highest, load[static_cast<size_t>(places[i].node)]);
  if (const BruteForce::Span span = brute.SpanOf(touched); span != fewest)
    return fmt::format("{} zones, {} of them new, where {} and {} are enough", span.all, span.fresh,
                       fewest.all, fewest.fresh);
  if (touched.empty()) return "";
  const Zones zones = brute.NodesOf(touched);
  if (gang.strict() && !brute.InOrder(zones, places)) return "ranks out of order";
  const bool could = brute.Possible(zones, {true, 1'000'000, true});
  const bool ordered = brute.InOrder(zones, places);
  if (could && !ordered) return "ranks out of order where they needn't be";
  if (!gang.pack && highest > 1 && !brute.Holds(zones) &&
      brute.Possible(zones, {could, highest - 1, true}))
    return fmt::format("{} on one node where fewer would do", highest);
  return "";
}

// Quotas that are as good as each other are taken in their natural order.
std::string OutOfTurn(const GangCase& gang, const Places& places) {
  std::set<int> taken, passed_over;
  for (const Place& place : places) taken.insert(place.quota);
  for (const auto& pod : gang.members) taken.insert(pod.quota);
  for (const auto& pod : gang.neighbours) taken.insert(pod.quota);
  for (size_t q = 0; q < gang.quotas.size(); ++q) {
    const GangCase::Quota& quota = gang.quotas[q];
    if (quota.node >= 0 || quota.demanded) continue;
    if (!taken.contains(static_cast<int>(q)))
      passed_over.insert(quota.shape);
    else if (passed_over.contains(quota.shape))
      return "a quota before its turn";
  }
  return "";
}

// What a whole cycle makes of the case, beside brute force; "" when they agree.
std::string Compare(const GangCase& gang, uint64_t seed, int* zones) {
  const Outcome outcome = Schedule(gang, {}, 0);
  BruteForce brute(gang);
  const std::optional<BruteForce::Span> fewest = brute.Fewest();
  *zones = fewest ? fewest->all : -1;
  if (!outcome.wrong.empty()) return outcome.wrong;
  if (Schedule(gang, {true}, seed + 1) != outcome) return "other names or another order matter";
  if (outcome.found && !fewest) return "found where nothing is possible";
  if (!outcome.found && fewest) return "not found: " + outcome.why;
  if (!outcome.found) return outcome.why.empty() ? "it doesn't say why it waits" : "";
  if (std::string wrong = Broken(gang, brute, outcome.places, *fewest); !wrong.empty())
    return wrong;
  return OutOfTurn(gang, outcome.places);
}

TEST(BruteForce, AgreesWithWholeCycles) {
  int cases = 0, found = 0, several = 0;
  for (int i = 0; i < kCases; ++i) {
    const uint64_t seed = First() + static_cast<uint64_t>(i);
    const GangCase gang = DrawGangCase(seed);
    if (std::all_of(gang.members.begin(), gang.members.end(),
                    [](const auto& pod) { return pod.node >= 0; }))
      continue;
    int fewest = 0;
    ASSERT_EQ(Compare(gang, seed, &fewest), "") << "case " << seed << "\n" << Text(gang);
    ++cases;
    found += fewest >= 0 ? 1 : 0;
    several += fewest > 1 ? 1 : 0;
  }
  EXPECT_GT(found, cases / 4);
  EXPECT_LT(found, cases * 3 / 4);
  EXPECT_GT(several, cases / 100);
}

}  // namespace
}  // namespace sky::actions
