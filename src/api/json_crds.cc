// SPDX-License-Identifier: Apache-2.0
#include "api/json_codec.h"

namespace sky::api {

SKY_INSTANTIATE_JSON(PodGroup)
SKY_INSTANTIATE_JSON(PodGroupStatus)
SKY_INSTANTIATE_JSON(Queue)
SKY_INSTANTIATE_JSON(QueueStatus)
SKY_INSTANTIATE_JSON(Quota)
SKY_INSTANTIATE_JSON(QuotaStatus)
SKY_INSTANTIATE_JSON(QuotaTerms)
SKY_INSTANTIATE_JSON(JobQueue)
SKY_INSTANTIATE_JSON(NodeTopology)
SKY_INSTANTIATE_JSON(NodeTopologySpec)
SKY_INSTANTIATE_JSON(Placement)
SKY_INSTANTIATE_JSON(QuotaSet)

}  // namespace sky::api
