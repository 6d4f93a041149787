// SPDX-License-Identifier: Apache-2.0
#include "api/json_codec.h"

namespace sky::api {

SKY_INSTANTIATE_JSON(ObjectMeta)
SKY_INSTANTIATE_JSON(Node)
SKY_INSTANTIATE_JSON(Lease)
SKY_INSTANTIATE_JSON(Event)
SKY_INSTANTIATE_JSON(PodDisruptionBudget)
SKY_INSTANTIATE_JSON(PriorityClass)

}  // namespace sky::api
