// SPDX-License-Identifier: Apache-2.0
// Volumes between a decision and its bindings. What is to be done follows from the objects and the
// open claims alone, so it can be asked at any time, and by whoever leads next.
#include "cache/volume_work.h"

#include <algorithm>

#include "api/keys.h"
#include "cache/cache.h"
#include "model/volume_rules.h"

namespace sky::cache {
namespace {

using model::ClaimState;
using model::NodeId;
using model::TaskId;
using model::VolumeStep;

VolumeWrite WriteOf(const api::PersistentVolumeClaim& claim) {
  const api::ObjectMeta& meta = claim.metadata;
  return {meta.namespace_, meta.name, meta.uid, meta.resource_version, {}, {}, {}, {}};
}

// A step towards a late claim's volume; nothing when it was taken already.
void AddWrite(const model::Volumes& volumes, const VolumeStep& step, const RoundEntry& entry,
              VolumeWork& work) {
  const api::PersistentVolumeClaim& claim = *volumes.FindClaimObject(step.claim);
  work.waits_for = "claim " + claim.metadata.name;
  VolumeWrite write = WriteOf(claim);
  write.node = entry.node_name;
  write.pod_uid = entry.uid;
  if (step.volume.empty()) {
    if (claim.metadata.Annotation(api::key::kSelectedNode) != entry.node_name)
      work.writes.push_back(std::move(write));
    return;
  }
  const api::PersistentVolume& volume = *volumes.FindVolume(step.volume);
  if (volume.spec.claim_ref && volume.spec.claim_ref->uid == claim.metadata.uid) return;
  write.volume = step.volume;
  write.volume_version = volume.metadata.resource_version;
  work.writes.push_back(std::move(write));
}

// The claims that aren't ours to choose for any more.
void AddState(const model::Cluster& cluster, TaskId task, const model::Node& node,
              VolumeWork& work) {
  const model::PodFacts& facts = *cluster.tasks()[task].facts;
  for (const model::PodClaim& named : facts.claims) {
    const std::string name = "claim " + named.key.substr(named.key.find('/') + 1);
    const auto* claim = cluster.volumes().FindClaimObject(named.key);
    switch (model::StateOf(cluster.volumes(), facts, named)) {
      case ClaimState::kLate:
        break;
      case ClaimState::kUnbound:
      case ClaimState::kNoVolume:  // which the watch of volumes hasn't told yet
        work.waits_for = name;
        break;
      case ClaimState::kBound:
        if (const auto& volume = *cluster.volumes().FindVolume(claim->spec.volume_name);
            !model::Reaches(volume, node, !named.owned))
          work.lost = fmt::format("{} got volume {}, which {} doesn't reach", name,
                                  volume.metadata.name, node.name);
        break;
      default:
        work.lost = model::WhyVolumes(cluster, task);
    }
  }
}

}  // namespace

Effect Cache::Apply(const model::VolumeChange& change) {
  const std::lock_guard lock(mutex_);
  return cluster_.ChangeVolumes(change) ? Effect::kRelevant : Effect::kNothing;
}

// In the order in which the session gave them out, so that everybody gets the one that was meant.
VolumeWork Cache::VolumesOf(const Round& round) {
  const std::lock_guard lock(mutex_);
  VolumeWork work;
  if (!cluster_.volumes().used()) return work;
  cluster_.Flush();
  std::vector<TaskId> choosing;
  for (const auto& [number, open] : rounds_)
    for (const auto& [uid, approval] : open)
      if (const TaskId id = cluster_.tasks().Find(uid);
          id.valid() && !cluster_.tasks()[id].facts->claims.empty() &&
          cluster_.tasks()[id].claim.round == number && !cluster_.tasks()[id].bound())
        choosing.push_back(id);
  std::ranges::sort(choosing,
                    [&](TaskId a, TaskId b) { return model::ChoosesBefore(cluster_, a, b); });
  std::set<std::string> taken;
  for (const TaskId id : choosing) {
    const model::Task& task = cluster_.tasks()[id];
    const model::Node& node = cluster_.nodes()[task.claim.node];
    const auto entry = std::ranges::find(round.entries, task.name, &RoundEntry::uid);
    const bool ours = task.claim.round == round.number && entry != round.entries.end();
    if (!node.exists()) continue;
    if (ours) AddState(cluster_, id, node, work);
    std::vector<VolumeStep> steps;
    const bool had = model::ChooseVolumes(cluster_, id, node, taken, steps);
    if (!ours) continue;
    if (!had && work.lost.empty())
      work.lost = fmt::format("{} on {}", model::WhyVolumes(cluster_, id), node.name);
    for (const VolumeStep& step : steps) AddWrite(cluster_.volumes(), step, *entry, work);
    if (!work.lost.empty()) {
      work.uids = {task.name};
      break;
    }
    if (!VolumesHold(id)) work.uids.push_back(task.name);
  }
  return work;
}

bool Cache::VolumesHold(TaskId id) const {
  const model::Task& task = cluster_.tasks()[id];
  const model::Node& node = cluster_.nodes()[task.claim.node];
  return std::ranges::all_of(task.facts->claims, [&](const model::PodClaim& named) {
    if (model::StateOf(cluster_.volumes(), *task.facts, named) != ClaimState::kBound) return false;
    const auto& claim = *cluster_.volumes().FindClaimObject(named.key);
    return node.exists() && model::Reaches(*cluster_.volumes().FindVolume(claim.spec.volume_name),
                                           node, !named.owned);
  });
}

// A job that pauses may come back to the node, and a provisioner may be at work there: that isn't
// disturbed. One that could have been planned, and wasn't, needs another node.
std::vector<VolumeWrite> Cache::StrayChoices() const {
  const std::lock_guard lock(mutex_);
  std::vector<VolumeWrite> all;
  for (const std::string& key : cluster_.volumes().chosen()) {
    const model::VolumeClaim& row = *cluster_.volumes().FindClaim(key);
    const std::string_view node = row.object->metadata.Annotation(api::key::kSelectedNode);
    const bool stray = std::ranges::all_of(row.users, [&](TaskId user) {
      const NodeId place = cluster_.PlaceOf(user);
      const model::JobId job = cluster_.tasks()[user].job;
      return !(place.valid() && cluster_.nodes()[place].name == node) && job.valid() &&
             cluster_.jobs()[job].backoff == model::Reason::kNone;
    });
    if (stray) all.push_back(WriteOf(*row.object));
  }
  return all;
}

}  // namespace sky::cache
