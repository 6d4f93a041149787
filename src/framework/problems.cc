// SPDX-License-Identifier: Apache-2.0
#include "framework/problems.h"

#include <algorithm>
#include <tuple>

namespace sky::framework {

std::vector<std::string> Problems::Lines(std::vector<Problem> problems) const {
  std::sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.at, a.message) < std::tie(b.at, b.message);
  });
  std::vector<std::string> lines;
  for (const Problem& problem : problems)
    lines.push_back(
        fmt::format("{}:{}:{}: {}", origin_, problem.at.line, problem.at.column, problem.message));
  return lines;
}

Error Problems::ToError() const {
  const std::vector<std::string> lines = Lines(problems_);
  std::string message;
  for (size_t i = 0; i < std::min(lines.size(), kMostTold); ++i)
    message += (i == 0 ? "" : "\n") + lines[i];
  if (lines.size() > kMostTold)
    message += fmt::format("\n{}: {} more", origin_, lines.size() - kMostTold);
  return Error(Code::kInvalid, message);
}

std::vector<std::string> Problems::Warnings() const { return Lines(warnings_); }

}  // namespace sky::framework
