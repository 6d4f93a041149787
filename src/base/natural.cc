// SPDX-License-Identifier: Apache-2.0
#include "base/natural.h"

#include <charconv>
#include <cstddef>

namespace sky {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The run of digits at `at`, without leading zeros.
std::string_view DigitRun(std::string_view text, size_t at, size_t* end) {
  *end = at;
  while (*end < text.size() && IsDigit(text[*end])) ++*end;
  size_t begin = at;
  while (begin + 1 < *end && text[begin] == '0') ++begin;
  return text.substr(begin, *end - begin);
}

}  // namespace

std::strong_ordering NaturalCompare(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      const std::string_view x = DigitRun(a, i, &i), y = DigitRun(b, j, &j);
      if (x.size() != y.size()) return x.size() <=> y.size();
      if (const int order = x.compare(y); order != 0) return order <=> 0;
      continue;
    }
    const auto x = static_cast<unsigned char>(a[i++]), y = static_cast<unsigned char>(b[j++]);
    if (x != y) return x <=> y;
  }
  if (const auto rest = (a.size() - i) <=> (b.size() - j); rest != 0) return rest;
  return a.compare(b) <=> 0;
}

std::string NaturalKey(std::string_view name) {
  std::string key;
  key.reserve(name.size() * 2 + 4);
  for (size_t i = 0; i < name.size();) {
    if (!IsDigit(name[i])) {
      key += name[i++];
      continue;
    }
    // Against anything else a run of digits is as good as a "0"; against another the longer one is
    // the greater number.
    const std::string_view run = DigitRun(name, i, &i);
    key += '0';
    key += static_cast<char>(run.size());
    key += run;
  }
  // Equal so far ("a01", "a1"): bytes decide.
  key += '\0';
  key += name;
  return key;
}

std::optional<int64_t> TrailingNumber(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  if (begin == name.size()) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(name.data() + begin, name.data() + name.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace sky
