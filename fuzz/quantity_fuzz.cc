// SPDX-License-Identifier: Apache-2.0
// Any text: it is refused, or prints to a canonical text that reads as the same amount; two amounts
// add and compare as numbers do.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/quantity.h"
#include "base/check.h"

namespace {

using sky::api::Quantity;

void CheckPrint(const Quantity& quantity) {
  const std::string text = quantity.ToString();
  const auto again = Quantity::Parse(text);
  SKY_CHECK(again.has_value() && *again == quantity, "{}", text);
  SKY_CHECK(text.size() < 64, "{}", text);
  SKY_CHECK((quantity.Value() < 0) == quantity.IsNegative(), "{}", text);
  SKY_CHECK((quantity.MilliValue() > 0) == (quantity > Quantity()), "{}", text);
}

void CheckPair(const Quantity& a, const Quantity& b) {
  SKY_CHECK(a + b == b + a, "{} {}", a.ToString(), b.ToString());
  SKY_CHECK((a < b) == (b - a > Quantity()), "{} {}", a.ToString(), b.ToString());
  CheckPrint(a + b);
  CheckPrint(a - b);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t split = text.find('|');
  const auto a = Quantity::Parse(text.substr(0, split));
  if (!a) return 0;
  CheckPrint(*a);
  if (split == std::string_view::npos) return 0;
  if (const auto b = Quantity::Parse(text.substr(split + 1))) CheckPair(*a, *b);
  return 0;
}
