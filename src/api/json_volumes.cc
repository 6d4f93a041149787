// SPDX-License-Identifier: Apache-2.0
#include "api/json_codec.h"

namespace sky::api {

SKY_INSTANTIATE_JSON(PersistentVolumeClaim)
SKY_INSTANTIATE_JSON(PersistentVolume)
SKY_INSTANTIATE_JSON(StorageClass)
SKY_INSTANTIATE_JSON(CSINode)

}  // namespace sky::api
