// SPDX-License-Identifier: Apache-2.0
#include "kube/client.h"

#include "kube/watch_decoder.h"

namespace sky::kube {

BadItem DescribeBad(std::string_view object, Error error) {
  const Result<api::ObjectMeta> meta = ParseMeta(object);
  if (!meta || meta->name.empty()) return {"?", "", "", std::move(error)};
  return {meta->Key(), meta->uid, meta->resource_version, std::move(error)};
}

}  // namespace sky::kube
