// SPDX-License-Identifier: Apache-2.0
#include "framework/plain_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sky::framework {
namespace {

// true, false and null have one spelling; these are the others that some version of YAML takes for
// them.
constexpr std::array<std::string_view, 10> kWordsOfSomeVersions = {
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// digits without a leading zero
bool IsWhole(std::string_view text) {
  return AllDigits(text) && (text.size() == 1 || text[0] != '0');
}

// Looks like a number to some version: begins as one and holds nothing but what numbers are made
// of.
bool LooksLikeNumber(std::string_view lower) {
  if (!lower.empty() && (lower[0] == '-' || lower[0] == '+')) lower.remove_prefix(1);
  if (lower.starts_with('.')) {
    lower.remove_prefix(1);
    if (lower == "inf" || lower == "nan") return true;
  }
  if (lower.empty() || !IsDigit(lower[0])) return false;
  const std::string_view of_numbers =
      lower.starts_with("0x") ? "0123456789abcdef_x" : "0123456789_.:obe+-";
  return lower.find_first_not_of(of_numbers) == lower.npos;
}

}  // namespace

PlainScalar ReadPlainScalar(std::string_view text) {
  if (text == "true" || text == "false") return {Tree::Kind::kBool, {}};
  if (text == "null" || text == "~" || text.empty()) return {Tree::Kind::kNull, {}};
  std::string_view number = text;
  if (number.starts_with('-') && number != "-0") number.remove_prefix(1);
  if (IsWhole(number)) return {Tree::Kind::kInt, {}};
  const size_t dot = number.find('.');
  if (dot != number.npos && IsWhole(number.substr(0, dot)) && AllDigits(number.substr(dot + 1)))
    return {Tree::Kind::kDecimal, {}};
  const std::string lower = Lower(text);
  if (std::find(kWordsOfSomeVersions.begin(), kWordsOfSomeVersions.end(), lower) !=
      kWordsOfSomeVersions.end())
    return {
        Tree::Kind::kText,
        fmt::format(
            "'{}' means different things in different versions of YAML; write true or false, or "
            "put quotes around it",
            text)};
  if (LooksLikeNumber(lower))
    return {Tree::Kind::kText,
            fmt::format(
                "'{}' is read as different numbers by different versions of YAML; write a plain "
                "decimal number such as 10 or 0.5, or put quotes around it",
                text)};
  return {};
}

}  // namespace sky::framework
