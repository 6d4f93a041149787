// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace sky {
namespace {

TEST(CutTextTest, KeepsWholeCharactersOnly) {
  EXPECT_EQ(CutText("plain", 5), "plain");
  EXPECT_EQ(CutText("plain", 3), "pla");
  EXPECT_EQ(CutText("", 3), "");
  const std::string_view text = "a\u00e9\uff11\U0001f600z";  // of 1, 2, 3, 4 and 1 bytes
  const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (size_t most = 0; most < std::size(whole); ++most)
    EXPECT_EQ(CutText(text, most), text.substr(0, whole[most])) << most;
}

}  // namespace
}  // namespace sky
