// SPDX-License-Identifier: Apache-2.0
// Static binding, as its controller sees it: spec.staticBindNode asks, and the node's existence,
// readiness and labels decide whether the quota is bound there now. Room is the scheduler's to
// judge, and so is everything once a task or a reservation uses the quota: the node is only ever
// set where there was none. One pure step, level-triggered: whoever runs it needs no memory.
//
//   asked ─► {node, bound: false} ─► node usable: {node, bound: true} and nodeName
//   no longer asked ─► {node, bound: false} ─► the scheduler takes the quota off ─► nothing
#pragma once

#include <optional>
#include <string>

#include "api/core.h"
#include "api/crds.h"

namespace sky::controllers {

// The node that has to be looked at for a quota; "": none.
inline const std::string& NodeToBindTo(const api::Quota& quota) {
  return quota.spec.static_bind_node;
}

// The merge patch of the quota's status that is due now, under the version that was read; absent:
// it says what it should. `node` is that of NodeToBindTo, null when there is none.
std::optional<std::string> StaticBindPatch(const api::Quota& quota, const api::Node* node);

}  // namespace sky::controllers
