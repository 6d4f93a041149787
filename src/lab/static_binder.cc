// SPDX-License-Identifier: Apache-2.0
#include "lab/static_binder.h"

#include "api/kinds.h"
#include "controllers/static_bind.h"

namespace sky::lab {

StaticBinder::StaticBinder(ApiServer& api)
    : client_(api, "sky-controller-manager/lab"),
      quotas_(api, client_, api::KindOf<api::Quota>().Path("", "") + "?watch=true"),
      nodes_(api, client_, "/api/v1/nodes?watch=true") {}

bool StaticBinder::Step() {
  std::set<std::string> due;
  for (const auto& delta : quotas_.Drain()) {
    const std::string& name = delta.object->metadata.name;
    const bool gone = delta.type == api::Delta<api::Quota>::Type::kDelete;
    if (gone || (controllers::NodeToBindTo(*delta.object).empty() &&
                 !delta.object->status.static_bind_status)) {
      asking_.erase(name);
      continue;
    }
    asking_.insert(name);
    due.insert(name);
  }
  std::set<std::string> changed;
  for (const auto& delta : nodes_.Drain()) changed.insert(delta.object->metadata.name);
  if (!changed.empty())
    for (const std::string& name : asking_)
      if (changed.contains(controllers::NodeToBindTo(*quotas_.known().at(name)))) due.insert(name);
  bool wrote = false;
  for (const std::string& name : due) wrote = Judge(name) || wrote;
  return wrote;
}

// A write that is refused was decided on what is old by now: the watch brings the quota here again.
bool StaticBinder::Judge(const std::string& name) {
  const api::Quota& quota = *quotas_.known().at(name);
  const auto node = nodes_.known().find(controllers::NodeToBindTo(quota));
  const auto patch = controllers::StaticBindPatch(
      quota, node == nodes_.known().end() ? nullptr : node->second.get());
  if (!patch) return false;
  return client_
      .Do("PATCH", api::KindOf<api::Quota>().Path("", name) + "/status", *patch,
          "application/merge-patch+json")
      .ok();
}

}  // namespace sky::lab
