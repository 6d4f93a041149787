// SPDX-License-Identifier: Apache-2.0
// Reads the `expressions` of a configuration: parses, checks kinds, knows the names, and warns of
// what would quietly do less than it looks. Used by config.cc alone.
#pragma once

#include <string_view>

#include "framework/config.h"
#include "framework/problems.h"

namespace sky::framework {

// The default of every callback.
std::map<std::string, expr::Expression, std::less<>> DefaultExpressions(
    std::span<const Callback> callbacks);

// `config.plugins` are read already, and config.expressions are the defaults, which `given`
// overrides.
void ReadExpressions(const Tree& given, std::string_view document, const KnownNames& known,
                     Config& config, Problems& problems);

}  // namespace sky::framework
