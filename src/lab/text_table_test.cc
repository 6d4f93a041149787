// SPDX-License-Identifier: Apache-2.0
#include "lab/text_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <sstream>

namespace sky::lab {
namespace {

TEST(TextTable, ColumnsStandTwoSpacesApartAndNothingTrails) {
  EXPECT_EQ(AlignedTable({{"NODE", "GPU"}, {"n0", "8"}, {"long-name", "16"}}),
            "NODE       GPU\n"
            "n0         8\n"
            "long-name  16\n");
}

TEST(TextTable, AnEmptyCellShowsAsADash) {
  EXPECT_EQ(AlignedTable({{"A", "B"}, {"", ""}, {"xyz", ""}}),
            "A    B\n"
            "-    -\n"
            "xyz  -\n");
}

TEST(TextTable, WidthIsWhatOneSees) {
  EXPECT_EQ(AlignedTable({{"NAME", "X"}, {"größe", "1"}, {"节点", "2"}, {"abcde", "3"}}),
            "NAME   X\n"
            "größe  1\n"
            "节点     2\n"
            "abcde  3\n");
}

TEST(TextTable, NothingIsAnEmptyText) {
  EXPECT_EQ(AlignedTable({}), "");
  EXPECT_EQ(AlignedTable({{"ONLY"}}), "ONLY\n");
}

TEST(TextTableDeathTest, ARowThatIsTooShortIsAMistake) {
  EXPECT_DEATH(AlignedTable({{"A", "B"}, {"1"}}), "1 cells below 2 headings");
}

// Cells without blanks come back by splitting at blanks, and every column begins at one place.
RC_GTEST_PROP(TextTable, EveryColumnBeginsAtOnePlaceInAllRows, ()) {
  const auto columns = *rc::gen::inRange<size_t>(1, 5);
  const auto cell = rc::gen::container<std::string>(rc::gen::inRange<char>('a', 'z'));
  const auto rows = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<TextRow>>(rc::gen::container<TextRow>(columns, cell)));
  std::istringstream lines(AlignedTable(rows));
  std::vector<size_t> begins;
  std::string line;
  for (const TextRow& row : rows) {
    RC_ASSERT(static_cast<bool>(std::getline(lines, line)));
    std::vector<size_t> at;
    TextRow read;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == ' ') continue;
      if (i == 0 || line[i - 1] == ' ') at.push_back(i), read.emplace_back();
      read.back() += line[i];
    }
    TextRow shown = row;
    for (std::string& one : shown)
      if (one.empty()) one = "-";
    RC_ASSERT(read == shown);
    if (begins.empty()) begins = at;
    RC_ASSERT(at == begins);
  }
  RC_ASSERT(!std::getline(lines, line));
}

}  // namespace
}  // namespace sky::lab
