// SPDX-License-Identifier: Apache-2.0
#include "api/names.h"

#include <algorithm>

namespace sky::api {
namespace {

constexpr size_t kMaxNameLength = 63;
constexpr size_t kMaxSubdomainLength = 253;

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlphanumeric(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }
bool IsNameCharacter(char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; }

// A part of a subdomain, which alone may be longer than a label.
bool IsPart(std::string_view text) {
  return !text.empty() && IsLowerOrDigit(text.front()) && IsLowerOrDigit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

}  // namespace

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  return text.size() <= kMaxNameLength && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, IsNameCharacter);
}

bool IsDnsLabel(std::string_view text) { return text.size() <= kMaxNameLength && IsPart(text); }

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > kMaxSubdomainLength) return false;
  while (true) {
    const size_t dot = std::min(text.find('.'), text.size());
    if (!IsPart(text.substr(0, dot))) return false;
    if (dot == text.size()) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsQualifiedName(std::string_view text) {
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    if (!IsDnsSubdomain(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return !text.empty() && IsLabelValue(text);
}

}  // namespace sky::api
