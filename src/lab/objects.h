// SPDX-License-Identifier: Apache-2.0
// Objects from files: several YAML documents, lists among them, created through the API like any
// other.
#pragma once

#include <string_view>

#include "base/result.h"
#include "lab/api_server.h"

namespace sky::lab {

// In the order of the text; a namespaced object without a namespace goes to "default". Stops at the
// first one that is refused, and says which and why.
Status CreateObjects(ApiServer& api, std::string_view yaml);

}  // namespace sky::lab
