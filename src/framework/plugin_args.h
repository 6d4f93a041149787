// SPDX-License-Identifier: Apache-2.0
// The arguments of one plugin, as the configuration gives them. A plugin reads them once, when it
// is made, through accessors that know the fallback and the bounds; an error says file, line and
// column. Which names exist and of what kind they are stands in the plugin's table (ArgSpec), which
// LoadConfig holds the file to, so that a misspelt argument stops the start. A value, constant
// after loading.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "framework/tree.h"

namespace sky::framework {

enum class ArgType : uint8_t {
  kBool,
  kInt,
  kDecimal,  // at most three decimals; read as thousandths
  kText,
  kDuration,  // "20ms", "1m30s"
  kTexts,     // a list of texts
  kInts,      // a map from a text to an integer
  kTree,      // anything; the plugin reads it with Find
};
std::string_view ArgTypeName(ArgType type);  // "a duration such as 20ms or 1m30s"

struct ArgSpec {
  std::string name;
  ArgType type;
};

// What a tree reads as, or why it doesn't (without a position; the caller knows it).
Result<bool> AsBool(const Tree& tree);
Result<int64_t> AsInt(const Tree& tree);
Result<int64_t> AsThousandths(const Tree& tree);
Result<std::string> AsText(const Tree& tree);
Result<Duration> AsDuration(const Tree& tree);
Result<std::vector<std::string>> AsTexts(const Tree& tree);
Result<std::map<std::string, int64_t>> AsInts(const Tree& tree);

class PluginArgs {
 public:
  PluginArgs() : tree_(Tree::Map({})) {}
  // `tree` is a map; `origin` is the file's name, for messages.
  PluginArgs(std::string plugin, std::string origin, Tree tree);

  Result<bool> Bool(std::string_view name, bool fallback) const;
  Result<int64_t> Int(std::string_view name, int64_t fallback, int64_t least, int64_t most) const;
  Result<int64_t> Thousandths(std::string_view name, int64_t fallback, int64_t least,
                              int64_t most) const;
  Result<std::string> Text(std::string_view name, std::string_view fallback) const;
  Result<Duration> Time(std::string_view name, Duration fallback) const;
  Result<std::vector<std::string>> Texts(std::string_view name,
                                         std::vector<std::string> fallback) const;
  Result<std::map<std::string, int64_t>> Ints(std::string_view name,
                                              std::map<std::string, int64_t> fallback,
                                              int64_t least, int64_t most) const;
  // The raw value, or nullptr when it isn't given.
  const Tree* Find(std::string_view name) const { return tree_.Find(name); }
  const Tree& tree() const { return tree_; }

  // "sched.yaml:12:9: plugin 'binpack': 'weight': …", for what a plugin itself finds wrong.
  Error Wrong(std::string_view name, std::string_view message) const;

  // Names and kinds against the plugin's table; every problem there is.
  std::vector<Problem> Check(const std::vector<ArgSpec>& table) const;

  // The same arguments, wherever they were written.
  bool operator==(const PluginArgs& other) const { return tree_ == other.tree_; }

 private:
  template <class T, class Read>
  Result<T> ReadOr(std::string_view name, T fallback, const Read& read) const;

  std::string plugin_, origin_;
  Tree tree_;
};

}  // namespace sky::framework
