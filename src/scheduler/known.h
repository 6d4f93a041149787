// SPDX-License-Identifier: Apache-2.0
// Every plugin and action of this build.
#pragma once

#include "framework/plugin.h"

namespace sky::scheduler {

framework::Registry AllKnown();

}  // namespace sky::scheduler
