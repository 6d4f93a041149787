// SPDX-License-Identifier: Apache-2.0
#include "lab/soak.h"

#include <gtest/gtest.h>

#include "lab/script.h"
#include "lab/soak_script.h"

namespace sky::lab {
namespace {

// More of them, and longer ones: skyctl lab soak.
TEST(Soak, RandomLivesKeepTheLedgersAndComeToRest) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto broken = Soak(seed, 60);
    ASSERT_FALSE(broken) << "seed " << seed << ": " << broken->what << "\n" << broken->script;
  }
}

TEST(Soak, ALifeIsAScriptAndItsSeedDecidesIt) {
  const std::string one = SoakScript(7).Events(200);
  EXPECT_EQ(one, SoakScript(7).Events(200));
  EXPECT_NE(one, SoakScript(8).Events(200));
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SoakScript life(seed);
    const auto script = ReadScript(life.Events(300) + life.Mend() + life.Empty(), "life");
    ASSERT_TRUE(script) << script.error().message();
  }
}

}  // namespace
}  // namespace sky::lab
