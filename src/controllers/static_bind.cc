// SPDX-License-Identifier: Apache-2.0
#include "controllers/static_bind.h"

#include <nlohmann/json.hpp>

#include "api/selectors.h"
#include "api/static_bind.h"

namespace sky::controllers {
namespace {

bool MayBind(const api::Quota& quota, const api::Node* node) {
  if (node == nullptr || node->metadata.deleting() || node->spec.unschedulable) return false;
  const api::Condition* ready = node->FindCondition("Ready");
  if (ready == nullptr || ready->status != "True") return false;
  const api::QuotaSpec& spec = quota.spec;
  const api::NodeAffinity* affinity =
      spec.affinity && spec.affinity->node ? &*spec.affinity->node : nullptr;
  return api::MatchesNode(spec.node_selector, affinity, node->metadata.name,
                          node->metadata.labels) &&
         !api::StaticRefused(quota, *node);
}

std::string Patch(const api::Quota& quota, nlohmann::json status) {
  const api::ObjectMeta& meta = quota.metadata;
  return nlohmann::json{
      {"metadata", {{"uid", meta.uid}, {"resourceVersion", meta.resource_version}}},
      {"status", std::move(status)}}
      .dump();
}

nlohmann::json Fixed(const std::string& node, bool bound) {
  return {{"nodeName", node}, {"bound", bound}};
}

}  // namespace

std::optional<std::string> StaticBindPatch(const api::Quota& quota, const api::Node* node) {
  if (quota.metadata.deleting()) return std::nullopt;
  const std::string& wanted = NodeToBindTo(quota);
  const api::QuotaStatus& status = quota.status;
  const auto& have = status.static_bind_status;
  if (wanted.empty()) {
    if (!have) return std::nullopt;
    const bool there = !have->node_name.empty() && have->node_name == status.node_name;
    if (!there) return Patch(quota, {{"staticBindStatus", nullptr}});
    if (!have->bound) return std::nullopt;  // the scheduler takes it off when nobody uses it
    return Patch(quota, {{"staticBindStatus", Fixed(have->node_name, false)}});
  }
  const bool there = status.node_name == wanted;
  const bool free =
      status.node_name.empty() && status.tasks.empty() && status.reserved_tasks.empty();
  const bool binds = free && MayBind(quota, node);
  nlohmann::json patch = {{"staticBindStatus", Fixed(wanted, there || binds)}};
  if (binds) patch["nodeName"] = wanted;
  const bool said = have && have->node_name == wanted && have->bound == (there || binds);
  if (said && !binds) return std::nullopt;
  return Patch(quota, std::move(patch));
}

}  // namespace sky::controllers
