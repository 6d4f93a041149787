// SPDX-License-Identifier: Apache-2.0
#include "lab/crds.h"

#include "base/check.h"

namespace sky::lab {

const CustomKinds& EmbeddedKinds() {
  static const std::shared_ptr<const CustomKinds> kKinds = [] {
    auto parsed = CustomKinds::Parse(EmbeddedCrds());
    SKY_CHECK(parsed.has_value(), "{}", parsed.error().message());
    return *std::move(parsed);
  }();
  return *kKinds;
}

}  // namespace sky::lab
