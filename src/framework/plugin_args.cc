// SPDX-License-Identifier: Apache-2.0
#include "framework/plugin_args.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/nearest.h"

namespace sky::framework {
namespace {

constexpr std::array<std::string_view, 8> kTypeNames = {"true or false",
                                                        "an integer",
                                                        "a number with at most three decimals",
                                                        "a text",
                                                        "a duration such as 20ms or 1m30s",
                                                        "a list of texts",
                                                        "a map from names to integers",
                                                        "anything"};

std::unexpected<Error> NotA(ArgType type, const Tree& tree) {
  return Fail(Code::kInvalid, "must be {}, not {}", ArgTypeName(type), Describe(tree));
}

Result<int64_t> ReadInt(std::string_view digits, const Tree& whole) {
  int64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
    return Fail(Code::kInvalid, "{} is out of range", whole.text);
  return value;
}

Status InRange(int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return Fail(Code::kInvalid, "must be from {} to {}, not {}", least, most, value);
}

Status ThousandthsInRange(int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  const auto number = [](int64_t thousandths) { return static_cast<double>(thousandths) / 1000; };
  return Fail(Code::kInvalid, "must be from {} to {}, not {}", number(least), number(most),
              number(value));
}

// Only whether it can be read; the value is the plugin's to fetch.
Status CheckKind(const Tree& tree, ArgType type) {
  const auto status = [](const auto& read) {
    return read ? Status() : std::unexpected(read.error());
  };
  switch (type) {
    case ArgType::kBool:
      return status(AsBool(tree));
    case ArgType::kInt:
      return status(AsInt(tree));
    case ArgType::kDecimal:
      return status(AsThousandths(tree));
    case ArgType::kText:
      return status(AsText(tree));
    case ArgType::kDuration:
      return status(AsDuration(tree));
    case ArgType::kTexts:
      return status(AsTexts(tree));
    case ArgType::kInts:
      return status(AsInts(tree));
    case ArgType::kTree:
      return {};
  }
  return {};
}

}  // namespace

std::string_view ArgTypeName(ArgType type) { return kTypeNames[static_cast<size_t>(type)]; }

Result<bool> AsBool(const Tree& tree) {
  if (tree.kind != Tree::Kind::kBool) return NotA(ArgType::kBool, tree);
  return tree.text == "true";
}

Result<int64_t> AsInt(const Tree& tree) {
  if (tree.kind != Tree::Kind::kInt) return NotA(ArgType::kInt, tree);
  return ReadInt(tree.text, tree);
}

Result<int64_t> AsThousandths(const Tree& tree) {
  if (tree.kind != Tree::Kind::kInt && tree.kind != Tree::Kind::kDecimal)
    return NotA(ArgType::kDecimal, tree);
  const size_t dot = std::min(tree.text.find('.'), tree.text.size());
  std::string digits = tree.text.substr(0, dot);
  std::string fraction = dot < tree.text.size() ? tree.text.substr(dot + 1) : "";
  if (fraction.size() > 3) return NotA(ArgType::kDecimal, tree);
  fraction.resize(3, '0');
  return ReadInt(digits + fraction, tree);
}

Result<std::string> AsText(const Tree& tree) {
  if (tree.kind != Tree::Kind::kText) return NotA(ArgType::kText, tree);
  return tree.text;
}

Result<Duration> AsDuration(const Tree& tree) {
  if (tree.kind == Tree::Kind::kInt && tree.text != "0")
    return Fail(Code::kInvalid, "needs a unit: {}s or {}ms, for example", tree.text, tree.text);
  if (tree.kind != Tree::Kind::kText && tree.kind != Tree::Kind::kInt)
    return NotA(ArgType::kDuration, tree);
  const Result<Duration> duration = ParseDuration(tree.text);
  if (!duration) return NotA(ArgType::kDuration, tree);
  return duration;
}

Result<std::vector<std::string>> AsTexts(const Tree& tree) {
  if (tree.kind != Tree::Kind::kList) return NotA(ArgType::kTexts, tree);
  std::vector<std::string> texts;
  for (const Tree& item : tree.list) texts.push_back(TRY(AsText(item), "each item"));
  return texts;
}

Result<std::map<std::string, int64_t>> AsInts(const Tree& tree) {
  if (tree.kind != Tree::Kind::kMap) return NotA(ArgType::kInts, tree);
  std::map<std::string, int64_t> ints;
  for (const TreeEntry& entry : tree.map)
    ints[entry.key] = TRY(AsInt(entry.value), "'{}'", entry.key);
  return ints;
}

PluginArgs::PluginArgs(std::string plugin, std::string origin, Tree tree)
    : plugin_(std::move(plugin)), origin_(std::move(origin)), tree_(std::move(tree)) {}

template <class T, class Read>
Result<T> PluginArgs::ReadOr(std::string_view name, T fallback, const Read& read) const {
  const Tree* given = Find(name);
  if (given == nullptr) return fallback;
  Result<T> value = read(*given);
  if (!value) return std::unexpected(Wrong(name, value.error().message()));
  return value;
}

Result<bool> PluginArgs::Bool(std::string_view name, bool fallback) const {
  return ReadOr(name, fallback, AsBool);
}

Result<int64_t> PluginArgs::Int(std::string_view name, int64_t fallback, int64_t least,
                                int64_t most) const {
  return ReadOr(name, fallback, [&](const Tree& tree) -> Result<int64_t> {
    const int64_t value = TRY(AsInt(tree));
    TRY(InRange(value, least, most));
    return value;
  });
}

Result<int64_t> PluginArgs::Thousandths(std::string_view name, int64_t fallback, int64_t least,
                                        int64_t most) const {
  return ReadOr(name, fallback, [&](const Tree& tree) -> Result<int64_t> {
    const int64_t value = TRY(AsThousandths(tree));
    TRY(ThousandthsInRange(value, least, most));
    return value;
  });
}

Result<std::string> PluginArgs::Text(std::string_view name, std::string_view fallback) const {
  return ReadOr(name, std::string(fallback), AsText);
}

Result<Duration> PluginArgs::Time(std::string_view name, Duration fallback) const {
  return ReadOr(name, fallback, AsDuration);
}

Result<std::vector<std::string>> PluginArgs::Texts(std::string_view name,
                                                   std::vector<std::string> fallback) const {
  return ReadOr(name, std::move(fallback), AsTexts);
}

Result<std::map<std::string, int64_t>> PluginArgs::Ints(std::string_view name,
                                                        std::map<std::string, int64_t> fallback,
                                                        int64_t least, int64_t most) const {
  using Ints = std::map<std::string, int64_t>;
  return ReadOr(name, std::move(fallback), [&](const Tree& tree) -> Result<Ints> {
    Ints ints = TRY(AsInts(tree));
    for (const auto& [key, value] : ints) TRY(InRange(value, least, most), "'{}'", key);
    return ints;
  });
}

Error PluginArgs::Wrong(std::string_view name, std::string_view message) const {
  const Tree* given = Find(name);
  const Position at = given == nullptr ? tree_.at : given->at;
  return Error(Code::kInvalid, fmt::format("{}:{}:{}: plugin '{}': '{}': {}", origin_, at.line,
                                           at.column, plugin_, name, message));
}

std::vector<Problem> PluginArgs::Check(const std::vector<ArgSpec>& table) const {
  std::vector<Problem> problems;
  std::vector<std::string> names;
  for (const ArgSpec& row : table) names.push_back(row.name);
  for (const TreeEntry& entry : tree_.map) {
    const auto row = std::find(names.begin(), names.end(), entry.key);
    if (row == names.end()) {
      problems.push_back({entry.at, fmt::format("plugin '{}' has no argument '{}'{}", plugin_,
                                                entry.key, DidYouMean(entry.key, names))});
      continue;
    }
    const Status kind =
        CheckKind(entry.value, table[static_cast<size_t>(row - names.begin())].type);
    if (!kind)
      problems.push_back({entry.value.at, fmt::format("plugin '{}': '{}': {}", plugin_, entry.key,
                                                      kind.error().message())});
  }
  return problems;
}

}  // namespace sky::framework
