// SPDX-License-Identifier: Apache-2.0
#include "api/json_codec.h"

namespace sky::api {

SKY_INSTANTIATE_JSON(Pod)

}  // namespace sky::api
