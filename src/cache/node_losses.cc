// SPDX-License-Identifier: Apache-2.0
// What time and fullness do to quotas on nodes: a node that was away too long loses what no pod
// holds there, one that couldn't be used too long is no longer waited for, and one that is bound
// beyond what it has gives static quotas back.
#include <algorithm>

#include "api/static_bind.h"
#include "base/natural.h"
#include "cache/cache.h"

namespace sky::cache {

using model::NodeId;
using model::QuotaId;

void Cache::NoteUsable(const std::string& name) {
  const NodeId id = cluster_.nodes().Find(name);
  if (!id.valid() || cluster_.nodes()[id].usable()) {
    unusable_since_.erase(name);
    cluster_.SetNodeForsaken(id, false);
  } else {
    unusable_since_.try_emplace(name, now_);
  }
}

Effect Cache::MarkLostNodes(Duration lost_after, Duration static_grace) {
  const std::lock_guard lock(mutex_);
  Effect effect = SetZones(wirings_.Tick(now_)) ? Effect::kRelevant : Effect::kNothing;
  const auto mark = [&](auto& since, Duration after, auto marked, auto set) {
    for (auto at = since.begin(); at != since.end();) {
      const NodeId id = cluster_.nodes().Find(at->first);
      if (!id.valid()) {
        at = since.erase(at);
        continue;
      }
      if (!marked(cluster_.nodes()[id]) && at->second + after <= now_) {
        set(id);
        effect = Effect::kRelevant;
      }
      ++at;
    }
  };
  mark(
      unready_since_, lost_after, [](const model::Node& node) { return node.lost; },
      [&](NodeId id) { cluster_.SetNodeLost(id, true); });
  mark(
      unusable_since_, static_grace,
      [](const model::Node& node) { return node.forsaken || node.static_quotas.empty(); },
      [&](NodeId id) { cluster_.SetNodeForsaken(id, true); });
  return effect;
}

std::optional<MonoTime> Cache::NextLoss(Duration lost_after, Duration static_grace) const {
  const std::lock_guard lock(mutex_);
  std::optional<MonoTime> next = wirings_.Next();
  const auto note = [&](MonoTime at) {
    if (!next || at < *next) next = at;
  };
  for (const auto& [name, since] : unready_since_)
    if (const NodeId id = cluster_.nodes().Find(name); id.valid() && !cluster_.nodes()[id].lost)
      note(since + lost_after);
  for (const auto& [name, since] : unusable_since_)
    if (const NodeId id = cluster_.nodes().Find(name);
        id.valid() && !cluster_.nodes()[id].forsaken && !cluster_.nodes()[id].static_quotas.empty())
      note(since + static_grace);
  return next;
}

void Cache::RefuseOverbound() {
  const std::lock_guard lock(mutex_);
  Settle();
  for (const NodeId id : std::exchange(filled_, {}))
    while (RefuseOneOn(id)) cluster_.Flush();
  Settle();
}

// The newest that nobody uses and that asks something of which there is too little.
bool Cache::RefuseOneOn(NodeId id) {
  if (!cluster_.nodes().Live(id) || !cluster_.nodes()[id].exists()) return false;
  const model::Node& node = cluster_.nodes()[id];
  model::Resources over;
  for (const auto& [name, committed] : node.committed)
    if (committed > node.allocatable[name]) over.Set(name, committed);
  QuotaId newest;
  const auto newer = [&](const model::Quota& a, const model::Quota& b) {
    const auto made = [](const model::Quota& one) {
      return one.object->metadata.creation_timestamp.at.value_or(WallTime{});
    };
    return made(a) != made(b) ? made(a) > made(b) : NaturalLess{}(b.name, a.name);
  };
  for (const QuotaId quota_id : node.static_quotas) {
    const model::Quota& quota = cluster_.quotas()[quota_id];
    if (!quota.exists() || quota.node != id || quota.status_node != id || !quota.users.empty() ||
        !quota.object->status.reserved_tasks.empty())
      continue;
    if (std::ranges::none_of(quota.listed, [&](model::ResourceId name) {
          return over[name] > 0 && quota.request[name] > 0;
        }))
      continue;
    if (!newest.valid() || newer(quota, cluster_.quotas()[newest])) newest = quota_id;
  }
  if (newest.valid()) cluster_.SetRefused(newest, wall_);
  return newest.valid();
}

// With the refusal of its static binding as long as that stands.
std::vector<api::Condition> Cache::ConditionsOf(const model::Quota& quota) const {
  std::vector<api::Condition> conditions = quota.object->status.conditions;
  const NodeId asked = quota.static_node;
  const auto node = asked.valid() ? cluster_.nodes()[asked].object : nullptr;
  if (node && quota.node != asked && api::StaticRefused(*quota.object, *node)) return conditions;
  std::erase_if(conditions, [](const api::Condition& condition) {
    return condition.type == api::kStaticRefused;
  });
  if (node && quota.refused && quota.status_node == asked)
    conditions.push_back(api::StaticRefusal(*quota.object, *node, *quota.refused));
  return conditions;
}

}  // namespace sky::cache
