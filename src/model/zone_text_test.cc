// SPDX-License-Identifier: Apache-2.0
#include "model/zone_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "model/facts.h"

namespace sky::model {
namespace {

std::string TextOf(const std::vector<std::string>& switches) {
  Names names;
  api::NodeTopology topology;
  for (const std::string& name : switches) topology.spec.net.roce.emplace_back().switch_name = name;
  std::string problem;
  return ZoneText(names.zones.Name(ZoneOfSwitches(
      Network::kRoce, WiringOf(topology, nullptr, false, names, &problem).roce.live, names)));
}

TEST(ZoneText, ASetIsSeparatedByCommasAndANameWithOneIsQuoted) {
  EXPECT_EQ(TextOf({"S1"}), "roce#S1");
  EXPECT_EQ(TextOf({"S2", "S1"}), "roce#S1,S2");
  EXPECT_EQ(TextOf({"S1,S2"}), R"(roce#"S1,S2")");
  EXPECT_EQ(TextOf({"S1,S2", "S3"}), R"(roce#"S1,S2",S3)");
  EXPECT_EQ(TextOf({"a\"b"}), R"(roce#"a\"b")");
  EXPECT_EQ(TextOf({"a\\b"}), R"(roce#a\b)");
  EXPECT_EQ(TextOf({"a#b c"}), "roce#a#b c");
  EXPECT_EQ(ZoneText("row-7"), "row-7") << "a name that people gave";
  EXPECT_EQ(ZoneText(""), "");
}

// Two names never merge: not in what people read, either.
RC_GTEST_PROP(ZoneText, DifferentKeysHaveDifferentTexts, ()) {
  const auto any_key = [] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string("aS1,\"\\#n\n"))));
    std::string key = *rc::gen::element<std::string>("", "roce#", "ib#");
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) key += '\0';
      key += parts[i];
    }
    return key;
  };
  std::map<std::string, std::string> keys;  // by text
  for (int i = 0; i < 5; ++i) {
    const std::string key = any_key();
    const auto [at, added] = keys.emplace(ZoneText(key), key);
    RC_ASSERT(at->second == key);
  }
}

}  // namespace
}  // namespace sky::model
