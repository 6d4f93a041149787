// SPDX-License-Identifier: Apache-2.0
// F41: lost switches, degraded members, and the hold-down, from what topologies say to zones.
#include "cache/wirings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "model/facts.h"
#include "model/zone_text.h"
#include "testing/words.h"

namespace sky::cache {
namespace {

using std::chrono::seconds;

struct WiringsTest : ::testing::Test {
  std::shared_ptr<model::Names> names = std::make_shared<model::Names>();
  Wirings wirings{names, seconds(60)};
  MonoTime now{};

  void Tell(const std::string& node, const api::NodeTopology& topology, bool groups = false) {
    std::string problem;
    wirings.Set(node, model::WiringOf(topology, nullptr, groups, *names, &problem), now, false);
  }
  // Its NICs hang on these; `down` of them, from the last, are down.
  void Wire(const std::string& node, const std::string& switches, size_t down = 0) {
    api::NodeTopology topology =
        testing::MakeTopology(node, "roce", *testing::ExpandNames(switches));
    auto& nics = topology.spec.net.roce;
    for (size_t i = nics.size() - down; i < nics.size(); ++i) nics[i].state = "Down";
    Tell(node, topology);
  }
  void Rack(const std::string& nodes, const std::string& switches) {
    const std::vector<std::string> expanded = *testing::ExpandNames(nodes);
    for (const std::string& node : expanded) Wire(node, switches);
  }
  // "zone" or "zone with so many rails".
  std::string Zone(const std::string& node, model::Network network = model::Network::kRoce) const {
    const model::NodeZones zones = wirings.Of(node);
    if (!zones.of(network).valid()) return "-";
    const std::string zone = model::ZoneText(names->zones.Name(zones.of(network)));
    const auto& rails = zones.rails(network);
    return rails ? fmt::format("{} with {}", zone, *rails) : zone;
  }
  void Pass(int64_t by) {
    now += seconds(by);
    wirings.Tick(now);
  }
};

TEST_F(WiringsTest, ABrokenRailCountsAfterTheHoldDownAndMakesNoZoneOfItsOwn) {
  Rack("n[0-3]", "A,B,C,D");
  Wire("n1", "A,B,C");
  EXPECT_EQ(Zone("n1"), "roce#A,B,C,D");
  EXPECT_EQ(wirings.Next(), now + seconds(60));
  Pass(59);
  EXPECT_EQ(Zone("n1"), "roce#A,B,C,D");
  Pass(1);
  EXPECT_EQ(Zone("n1"), "roce#A,B,C,D with 3");
  EXPECT_EQ(Zone("n0"), "roce#A,B,C,D");
  EXPECT_EQ(wirings.Next(), std::nullopt);
  Wire("n1", "A,B,C,D");
  EXPECT_EQ(Zone("n1"), "roce#A,B,C,D") << "what comes back counts at once";
}

TEST_F(WiringsTest, ALinkThatFlapsNeverCountsAsLost) {
  Rack("n[0-3]", "A,B");
  for (int i = 0; i < 30; ++i) {
    Wire("n1", "A,B", i % 2 == 0 ? 1 : 0);
    Pass(10);
    EXPECT_EQ(Zone("n1"), "roce#A,B");
  }
}

TEST_F(WiringsTest, ALossGoesOnWhileMoreIsLost) {
  Rack("n[0-3]", "A,B,C,D");
  Wire("n1", "A,B,C");
  Pass(40);
  Wire("n1", "A,B");
  Pass(20);
  EXPECT_EQ(Zone("n1"), "roce#A,B,C,D with 2");
  Wire("n1", "");
  Pass(59);
  EXPECT_EQ(Zone("n1"), "roce#A,B,C,D with 0");
  Pass(1);
  EXPECT_EQ(Zone("n1"), "-");
}

TEST_F(WiringsTest, ADifferentSwitchCountsAtOnce) {
  Rack("n[0-3]", "A,B");
  Wire("n1", "C,D");
  EXPECT_EQ(Zone("n1"), "roce#C,D");
  Wire("n2", "A,E");
  EXPECT_EQ(Zone("n2"), "roce#A,E");
}

TEST_F(WiringsTest, ANicThatIsDownWhenFirstSeenIsLostAfterTheHoldDown) {
  Rack("n[0-2]", "A,B");
  Wire("n3", "A,B", 1);
  EXPECT_EQ(Zone("n3"), "roce#A,B");
  Pass(60);
  EXPECT_EQ(Zone("n3"), "roce#A,B with 1");
}

TEST_F(WiringsTest, ADegradedSetIsAtLeastHalfOfExactlyOneLargerZone) {
  Rack("n[0-3]", "A,B,C,D");
  Wire("half", "A,B");
  EXPECT_EQ(Zone("half"), "roce#A,B,C,D with 2");
  Wire("less", "A");
  EXPECT_EQ(Zone("less"), "roce#A");
  Wire("other", "A,E");
  EXPECT_EQ(Zone("other"), "roce#A,E");
  Rack("m[0-3]", "A,B,E,F");
  EXPECT_EQ(Zone("half"), "roce#A,B") << "of two, so of neither";
  Wire("three", "A,B,C");
  EXPECT_EQ(Zone("three"), "roce#A,B,C,D with 3");
}

TEST_F(WiringsTest, DegradedMembersOfOneZoneDontHideEachOther) {
  Rack("n[0-7]", "A,B,C,D");
  Rack("m[0-1]", "A,B,C");
  Wire("k", "A,B");
  EXPECT_EQ(Zone("m0"), "roce#A,B,C,D with 3");
  EXPECT_EQ(Zone("k"), "roce#A,B,C,D with 2");
}

// The machines with one switch are whole as they are: it is the dual-homed one that is special.
TEST_F(WiringsTest, OneDualHomedNodeMakesNobodyDegraded) {
  Rack("n[0-1]", "S1");
  Wire("n2", "S2");
  Wire("n3", "S1,S2");
  EXPECT_EQ(Zone("n0"), "roce#S1");
  EXPECT_EQ(Zone("n2"), "roce#S2");
  EXPECT_EQ(Zone("n3"), "roce#S1,S2");
}

TEST_F(WiringsTest, EachNetworkHasItsOwnLosses) {
  for (const char* node : {"n0", "n1", "n2"}) {
    api::NodeTopology topology = testing::MakeTopology(node, "ib", {"I1", "I2"});
    topology.spec.net.roce = testing::MakeTopology(node, "roce", {"R1"}).spec.net.roce;
    Tell(node, topology);
  }
  api::NodeTopology broken = testing::MakeTopology("n0", "ib", {"I1"});
  broken.spec.net.roce = testing::MakeTopology("n0", "roce", {"R1"}).spec.net.roce;
  Tell("n0", broken);
  Pass(60);
  EXPECT_EQ(Zone("n0", model::Network::kIb), "ib#I1,I2 with 1");
  EXPECT_EQ(Zone("n0"), "roce#R1");
  broken.spec.net.ib.clear();
  Tell("n0", broken);
  Pass(60);
  EXPECT_EQ(Zone("n0", model::Network::kIb), "roce#R1") << "the IB view falls back";
}

TEST_F(WiringsTest, ALeafGroupIsAZoneWhateverSwitchesItsNodesHangOn) {
  const auto tell = [&](const std::string& node, const std::string& switches, bool grouped) {
    api::NodeTopology topology =
        testing::MakeTopology(node, "roce", *testing::ExpandNames(switches));
    if (grouped) topology.spec.tiers = {{1, "roce", "su0"}, {2, "roce", "pod0"}};
    Tell(node, topology, true);
  };
  tell("n0", "A,B", true);
  tell("n1", "A,X", true);
  tell("n2", "A,B", false);
  EXPECT_EQ(Zone("n0"), "roce/su0");
  EXPECT_EQ(Zone("n1"), "roce/su0") << "a swapped cable";
  EXPECT_EQ(Zone("n2"), "roce#A,B") << "it is in no group";
}

TEST_F(WiringsTest, WhatIsForgottenLeavesNoTrace) {
  Rack("n[0-3]", "A,B");
  Wire("n4", "A");
  EXPECT_EQ(Zone("n4"), "roce#A,B with 1");
  for (const char* node : {"n0", "n1", "n2", "n3"}) wirings.Set(node, {}, now, true);
  EXPECT_EQ(Zone("n0"), "-");
  EXPECT_EQ(Zone("n4"), "roce#A");
}

// Whatever the order in which nodes are told of, and however they came to hang as they do: once all
// losses count, zones follow from the present wiring alone.
RC_GTEST_PROP(WiringsLaw, ZonesFollowFromThePresentWiring, (uint64_t seed)) {
  Rng rng(seed);
  const auto names = std::make_shared<model::Names>();
  Wirings lived(names, seconds(60)), fresh(names, seconds(60));
  std::map<std::string, model::NodeWiring> present;
  const auto draw = [&](const std::string& node) {
    std::vector<std::string> switches;
    for (const char* one : {"A", "B", "C", "D"})
      if (rng.Below(4) != 0) switches.emplace_back(one);
    std::string problem;
    return model::WiringOf(testing::MakeTopology(node, rng.Below(3) == 0 ? "ib" : "roce", switches),
                           nullptr, false, *names, &problem);
  };
  MonoTime now{};
  for (int i = 0; i < 40; ++i) {
    const std::string node = fmt::format("n{}", rng.Below(8));
    const bool gone = rng.Below(6) == 0;
    present[node] = gone ? model::NodeWiring{} : draw(node);
    lived.Set(node, present[node], now, gone);
    now += seconds(rng.Below(30));
    lived.Tick(now);
  }
  now += seconds(60);
  const Wirings::Nodes changed = lived.Tick(now);
  RC_ASSERT(lived.Next() == std::nullopt);
  std::vector<std::string> order;
  for (const auto& [node, wiring] : present) order.push_back(node);
  for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[rng.Below(k)]);
  for (const std::string& node : order) fresh.Set(node, present[node], now, true);
  for (const std::string& node : order) RC_ASSERT(lived.Of(node) == fresh.Of(node));
}

// Whose zones change is told: nothing else would tell the cluster.
RC_GTEST_PROP(WiringsLaw, EveryChangeIsTold, (uint64_t seed)) {
  Rng rng(seed);
  const auto names = std::make_shared<model::Names>();
  Wirings wirings(names, seconds(20));
  std::map<std::string, model::NodeZones> told;
  MonoTime now{};
  for (int i = 0; i < 40; ++i) {
    const std::string node = fmt::format("n{}", rng.Below(6));
    std::vector<std::string> switches;
    for (const char* one : {"A", "B", "C", "D"})
      if (rng.Below(3) != 0) switches.emplace_back(one);
    std::string problem;
    Wirings::Nodes changed =
        wirings.Set(node,
                    model::WiringOf(testing::MakeTopology(node, "roce", switches), nullptr, false,
                                    *names, &problem),
                    now, false);
    now += seconds(rng.Below(15));
    changed.merge(wirings.Tick(now));
    for (const std::string& one : changed) told[one] = wirings.Of(one);
    for (int k = 0; k < 6; ++k)
      RC_ASSERT(told[fmt::format("n{}", k)] == wirings.Of(fmt::format("n{}", k)));
  }
}

}  // namespace
}  // namespace sky::cache
