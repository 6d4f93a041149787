// SPDX-License-Identifier: Apache-2.0
// What is wrong with a file: problems and warnings gathered while it is read, told together and in
// the order of the file, so that a person corrects it once. Lives for one load.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "framework/tree.h"

namespace sky::framework {

class Problems {
 public:
  explicit Problems(std::string origin) : origin_(std::move(origin)) {}

  void Add(Problem problem) { problems_.push_back(std::move(problem)); }
  void Add(Position at, std::string message) { problems_.push_back({at, std::move(message)}); }
  void Warn(Position at, std::string message) { warnings_.push_back({at, std::move(message)}); }

  bool empty() const { return problems_.empty(); }
  const std::string& origin() const { return origin_; }

  // "sched.yaml:3:1: unknown key …", a line each; at most kMostTold of them, and how many more
  // there are.
  Error ToError() const;
  std::vector<std::string> Warnings() const;

 private:
  static constexpr size_t kMostTold = 20;
  std::vector<std::string> Lines(std::vector<Problem> problems) const;

  std::string origin_;
  std::vector<Problem> problems_, warnings_;
};

}  // namespace sky::framework
