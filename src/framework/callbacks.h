// SPDX-License-Identifier: Apache-2.0
// Every callback that plugins can register, in one table: its name in the configuration, the kind
// of value that it gives, and the expression that combines the plugins unless the configuration
// says otherwise. The three bundles have six stages each; the others belong to the session as a
// whole.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "expr/expression.h"

namespace sky::framework {

struct Callback {
  std::string_view name;  // "quotaToNode.nOrder", "jobOrder"
  expr::Type type;
  std::string_view expression;  // the default
  // Whether one plugin alone can refuse. An expression that leaves such a plugin out loses its
  // protection without anybody noticing, so that gets a warning.
  bool veto;
};

// The whole table; what an expression evaluates to when everybody abstains is the caller's to add:
// verdict Fit, order equal, valid, enqueueable, ready, pipelined true, starving and overused false,
// victims none, score 0, target none.
std::span<const Callback> AllCallbacks();

// Index into AllCallbacks.
std::optional<size_t> FindCallback(std::string_view name);

}  // namespace sky::framework
