// SPDX-License-Identifier: Apache-2.0
#include "lab/merge_types.h"

#include <array>
#include <nlohmann/json.hpp>

namespace sky::lab {

struct MergeType::Rule {
  std::string_view kind;  // "" for every kind
  std::string_view path;
  List list;
  std::string_view apply_keys, strategic_keys;  // "key,key=default"
};

namespace {

using List = MergeType::List;

}  // namespace

const MergeType::Rule* MergeType::FindRule() const {
  static constexpr std::array<Rule, 29> kRules = {{
      {"", "metadata.finalizers", List::kSet, "", ""},
      {"", "metadata.ownerReferences", List::kMap, "uid", "uid"},
      {"Pod", "spec.containers", List::kMap, "name", "name"},
      {"Pod", "spec.initContainers", List::kMap, "name", "name"},
      {"Pod", "spec.ephemeralContainers", List::kMap, "name", "name"},
      {"Pod", "spec.containers.env", List::kMap, "name", "name"},
      {"Pod", "spec.initContainers.env", List::kMap, "name", "name"},
      {"Pod", "spec.containers.ports", List::kMap, "containerPort,protocol=TCP", "containerPort"},
      {"Pod", "spec.initContainers.ports", List::kMap, "containerPort,protocol=TCP",
       "containerPort"},
      {"Pod", "spec.containers.volumeMounts", List::kMap, "mountPath", "mountPath"},
      {"Pod", "spec.initContainers.volumeMounts", List::kMap, "mountPath", "mountPath"},
      {"Pod", "spec.volumes", List::kMap, "name", "name"},
      {"Pod", "spec.imagePullSecrets", List::kMap, "name", "name"},
      {"Pod", "spec.schedulingGates", List::kMap, "name", "name"},
      {"Pod", "spec.hostAliases", List::kMap, "ip", "ip"},
      {"Pod", "spec.resourceClaims", List::kMap, "name", "name"},
      {"Pod", "spec.topologySpreadConstraints", List::kMap, "topologyKey,whenUnsatisfiable",
       "topologyKey"},
      {"Pod", "status.conditions", List::kMap, "type", "type"},
      {"Pod", "status.podIPs", List::kMap, "ip", "ip"},
      {"Node", "status.conditions", List::kMap, "type", "type"},
      {"Node", "status.addresses", List::kMap, "type", "type"},
      {"Node", "spec.podCIDRs", List::kSet, "", ""},
      {"Namespace", "status.conditions", List::kMap, "type", "type"},
      {"PodDisruptionBudget", "status.conditions", List::kMap, "type", "type"},
      {"ServiceAccount", "secrets", List::kMap, "name", "name"},
      {"ServiceAccount", "imagePullSecrets", List::kAtomic, "", ""},
      {"ResourceQuota", "spec.scopes", List::kAtomic, "", ""},
      {"CustomResourceDefinition", "status.conditions", List::kMap, "type", "type"},
      {"CustomResourceDefinition", "spec.versions", List::kAtomic, "", ""},
  }};
  for (const Rule& rule : kRules)
    if ((rule.kind.empty() || rule.kind == kind_) && rule.path == path_) return &rule;
  return nullptr;
}

MergeType MergeType::ForApply(const Resource& resource) {
  MergeType type;
  type.kind_ = resource.custom ? "" : resource.kind;
  type.schema_ = resource.schema == nullptr ? nullptr : &resource.schema->json();
  return type;
}

MergeType MergeType::ForStrategic(const Resource& resource) {
  MergeType type = ForApply(resource);
  type.strategic_ = true;
  return type;
}

MergeType MergeType::Member(std::string_view name) const {
  MergeType inner = *this;
  inner.path_ += (path_.empty() ? "" : ".") + std::string(name);
  if (schema_ == nullptr) return inner;
  inner.schema_ = Find(*schema_, {"properties", name});
  if (inner.schema_ == nullptr) inner.schema_ = Find(*schema_, {"additionalProperties"});
  return inner;
}

MergeType MergeType::Item() const {
  MergeType inner = *this;
  if (schema_ != nullptr) inner.schema_ = Find(*schema_, {"items"});
  return inner;
}

MergeType::List MergeType::list() const {
  if (const Rule* rule = FindRule()) return rule->list;
  if (schema_ == nullptr) return List::kAtomic;
  const std::string type = TextAt(*schema_, {"x-kubernetes-list-type"});
  if (type == "map") return List::kMap;
  return type == "set" ? List::kSet : List::kAtomic;
}

MergeType::Keys MergeType::keys() const {
  Keys keys;
  if (const Rule* rule = FindRule()) {
    std::string_view text = strategic_ ? rule->strategic_keys : rule->apply_keys;
    while (!text.empty()) {
      const std::string_view one = text.substr(0, text.find(','));
      const size_t equal = one.find('=');
      keys.emplace_back(one.substr(0, equal),
                        equal == one.npos ? Json() : Json(one.substr(equal + 1)));
      text.remove_prefix(std::min(one.size() + 1, text.size()));
    }
    return keys;
  }
  if (schema_ == nullptr) return keys;
  for (const std::string& key : TextsAt(*schema_, {"x-kubernetes-list-map-keys"})) {
    const Json* fallback = Find(*schema_, {"items", "properties", key, "default"});
    keys.emplace_back(key, fallback == nullptr ? Json() : *fallback);
  }
  return keys;
}

bool MergeType::atomic_map() const {
  // Selectors change as a whole; so do the node selector of a pod and the source of a volume's
  // data.
  if (kind_ == "Pod" && path_ == "spec.nodeSelector") return !strategic_;
  if (!kind_.empty() && !strategic_ && path_.ends_with("elector")) return true;
  return schema_ != nullptr && TextAt(*schema_, {"x-kubernetes-map-type"}) == "atomic";
}

Json MergeType::KeyOf(const Keys& keys, const Json& item) {
  Json key = Json::object();
  for (const auto& [name, fallback] : keys) {
    const Json* value = Find(item, {name});
    key[name] = value == nullptr ? fallback : *value;
  }
  return key;
}

}  // namespace sky::lab
