// SPDX-License-Identifier: Apache-2.0
// What a word without quotes means in our YAML: only what every YAML version and every reader
// agrees on. The rest is refused with advice, since `version: 010` or `mode: on` otherwise changes
// its meaning from parser to parser. Pure.
#pragma once

#include <string>
#include <string_view>

#include "framework/tree.h"

namespace sky::framework {

struct PlainScalar {
  Tree::Kind kind = Tree::Kind::kText;  // kNull, kBool, kInt, kDecimal or kText
  std::string advice;                   // not empty: refuse, and say this
};

PlainScalar ReadPlainScalar(std::string_view text);

}  // namespace sky::framework
