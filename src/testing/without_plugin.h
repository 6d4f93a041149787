// SPDX-License-Identifier: Apache-2.0
// A configuration as it would be without one of its plugins: neither listed nor named in any
// expression. Where nobody else is named, all who are left are.
#pragma once

#include <string_view>

#include "framework/config.h"

namespace sky::testing {

framework::Config WithoutPlugin(framework::Config config, std::string_view name);

}  // namespace sky::testing
