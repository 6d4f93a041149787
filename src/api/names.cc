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

}  // namespace

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  return text.size() <= kMaxNameLength && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, IsNameCharacter);
}

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > kMaxSubdomainLength) return false;
  while (true) {
    const size_t dot = std::min(text.find('.'), text.size());
    const std::string_view part = text.substr(0, dot);
    const auto allowed = [](char c) { return IsLowerOrDigit(c) || c == '-'; };
    if (part.empty() || !IsLowerOrDigit(part.front()) || !IsLowerOrDigit(part.back()) ||
        !std::ranges::all_of(part, allowed))
      return false;
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
