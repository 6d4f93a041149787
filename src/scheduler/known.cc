// SPDX-License-Identifier: Apache-2.0
#include "scheduler/known.h"

#include "actions/actions.h"
#include "plugins/all_plugins.h"

namespace sky::scheduler {

framework::Registry AllKnown() {
  framework::Registry registry;
  plugins::AddAllPlugins(registry);
  actions::AddAllActions(registry);
  return registry;
}

}  // namespace sky::scheduler
