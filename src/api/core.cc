// SPDX-License-Identifier: Apache-2.0
#include "api/core.h"

#include <algorithm>

namespace sky::api {

const Condition* Node::FindCondition(std::string_view type) const {
  const auto it = std::ranges::find(status.conditions, type, &Condition::type);
  return it == status.conditions.end() ? nullptr : &*it;
}

}  // namespace sky::api
