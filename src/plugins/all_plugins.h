// SPDX-License-Identifier: Apache-2.0
// The only list of plugins.
#pragma once

#include "framework/plugin.h"

namespace sky::plugins {

void AddAllPlugins(framework::Registry& registry);

}  // namespace sky::plugins
