// SPDX-License-Identifier: Apache-2.0
// Quota.status is the picture for people: what it should say is painted from the ledgers, and
// whatever differs from what the API shows is written, whoever caused it. Level-triggered, so
// nothing is ever lost.
#include <algorithm>

#include "base/natural.h"
#include "cache/cache.h"

namespace sky::cache {

using model::QuotaId;
using model::TaskId;

void ArrangeTasks(api::QuotaStatus& status) {
  std::sort(status.tasks.begin(), status.tasks.end(),
            [](const api::QuotaTask& a, const api::QuotaTask& b) {
              if (a.namespace_ != b.namespace_) return a.namespace_ < b.namespace_;
              if (a.name != b.name) return NaturalLess{}(a.name, b.name);
              return a.uid < b.uid;
            });
  // `allocated` counts the others too.
  if (status.tasks.size() > kMostShownTasks) status.tasks.resize(kMostShownTasks);
  std::sort(status.reserved_tasks.begin(), status.reserved_tasks.end(),
            [](const api::ReservedTask& a, const api::ReservedTask& b) {
              if (a.job != b.job) return a.job < b.job;
              if (a.pod != b.pod) return NaturalLess{}(a.pod, b.pod);
              return a.pod_uid < b.pod_uid;
            });
  if (status.reserved_tasks.size() > kMostShownTasks) status.reserved_tasks.resize(kMostShownTasks);
  const auto shorten = [](api::ResourceList& request) {
    if (request.size() > kMostShownResources)
      request.erase(request.begin() + kMostShownResources, request.end());
  };
  for (api::QuotaTask& row : status.tasks) shorten(row.request);
  for (api::ReservedTask& row : status.reserved_tasks) shorten(row.request);
}

namespace {

api::ReservedTask RowOf(const model::Reservation& kept, const model::Names& names) {
  api::ReservedTask row;
  row.job = kept.job;
  row.role = kept.role;
  row.pod = kept.pod;
  row.pod_uid = kept.pod_uid;
  row.successor_uid = kept.successor_uid;
  if (kept.index) row.index = static_cast<int32_t>(*kept.index);
  row.request = model::ToList(kept.request, names.resources);
  row.expires.at = kept.expires;
  return row;
}

}  // namespace

Picture Cache::Paint(QuotaId id) const {
  const model::Quota& quota = cluster_.quotas()[id];
  Picture picture;
  picture.quota = id;
  picture.name = quota.name;
  picture.uid = quota.object->metadata.uid;
  picture.resource_version = quota.object->metadata.resource_version;
  picture.observed_allocated = quota.object->status.allocated;
  picture.observed_node = quota.object->status.node_name;
  picture.status.phase = quota.node.valid() ? "QuotaBound" : "QuotaEmpty";
  if (quota.node.valid()) picture.status.node_name = cluster_.nodes()[quota.node].name;
  model::Resources listed;
  for (const model::ResourceId name : quota.listed) listed.Set(name, quota.task_sum[name]);
  picture.status.allocated = model::ToList(listed, names_->resources);
  for (const TaskId task_id : quota.tasks) {
    const model::Task& task = cluster_.tasks()[task_id];
    api::QuotaTask& row = picture.status.tasks.emplace_back();
    const api::ObjectMeta& meta = task.facts->meta();
    row.namespace_ = meta.namespace_;
    row.name = meta.name;
    row.uid = meta.uid;
    row.job =
        task.job.valid() && !cluster_.jobs()[task.job].single ? cluster_.jobs()[task.job].name : "";
    row.role = task.facts->role;
    if (task.facts->index && *task.facts->index <= INT32_MAX)
      row.index = static_cast<int32_t>(*task.facts->index);
    model::Resources request = task.facts->request;
    request.Set(model::ResourceNames::kPods, 0);
    row.request = model::ToList(request, names_->resources);
  }
  for (const model::Reservation& kept : quota.reserved)
    if (!kept.leaving) picture.status.reserved_tasks.push_back(RowOf(kept, *names_));
  ArrangeTasks(picture.status);
  if (auto conditions = ConditionsOf(quota); conditions != quota.object->status.conditions)
    picture.conditions = std::move(conditions);
  for (const TaskId task_id : quota.tasks)
    picture.heals =
        picture.heals || (cluster_.tasks()[task_id].bound() && !picture.observed_node.empty() &&
                          picture.observed_node != picture.status.node_name);
  return picture;
}

bool Cache::PictureStale(QuotaId id) const {
  if (!cluster_.quotas().Live(id)) return false;
  const model::Quota& quota = cluster_.quotas()[id];
  // A split quota is an error that people must look at: left alone.
  if (!quota.exists() || quota.deleting() || quota.split) return false;
  // The picture trails what is durable: a claim on its way, or a binding that is open, isn't shown
  // yet.
  for (const TaskId user : quota.users) {
    const model::Claim::Phase phase = cluster_.tasks()[user].claim.phase;
    if (phase == model::Claim::Phase::kWriting || phase == model::Claim::Phase::kSending)
      return false;
  }
  const api::QuotaStatus& have = quota.object->status;
  const Picture picture = Paint(id);
  const api::QuotaStatus& want = picture.status;
  const bool same_phase =
      have.phase == want.phase || (have.phase.empty() && want.phase == "QuotaEmpty");
  return !(same_phase && have.node_name == want.node_name && have.allocated == want.allocated &&
           have.tasks == want.tasks && have.reserved_tasks == want.reserved_tasks &&
           !picture.conditions);
}

std::vector<Picture> Cache::TakeStalePictures(size_t max) {
  const std::lock_guard lock(mutex_);
  JudgeReservations();
  std::vector<Picture> pictures;
  while (pictures.size() < max && !picture_candidates_.empty()) {
    const QuotaId id = *picture_candidates_.begin();
    picture_candidates_.erase(picture_candidates_.begin());
    if (PictureStale(id)) pictures.push_back(Paint(id));
  }
  return pictures;
}

void Cache::PictureAgain(const std::string& quota_name) {
  const std::lock_guard lock(mutex_);
  if (const QuotaId id = cluster_.quotas().Find(quota_name); id.valid())
    picture_candidates_.insert(id);
}

std::optional<Picture> Cache::PictureOf(const std::string& quota_name) {
  const std::lock_guard lock(mutex_);
  Settle();
  const QuotaId id = cluster_.quotas().Find(quota_name);
  if (!id.valid() || !cluster_.quotas()[id].exists()) return std::nullopt;
  return Paint(id);
}

std::optional<Standing> Cache::StandingOf(model::JobId id) const {
  if (!cluster_.jobs().Live(id) || !cluster_.jobs()[id].object) return std::nullopt;
  const model::Job& job = cluster_.jobs()[id];
  Standing standing{job.name, job.object->metadata.namespace_, job.object->metadata.name,
                    job.object->metadata.uid, job.object->status.conditions};
  standing.needed = job.needed;
  standing.bound = job.bound;
  standing.live = static_cast<int32_t>(std::ranges::count_if(
      job.ranked, [&](TaskId member) { return cluster_.tasks()[member].bound(); }));
  standing.could = job.ready + job.placeable;
  standing.whole = job.whole;
  standing.waits = job.waiting > 0;
  standing.leaving = std::ranges::any_of(job.members, [&](TaskId member) {
    const model::PodFacts& facts = *cluster_.tasks()[member].facts;
    return facts.deleting && !facts.terminal;
  });
  standing.completed = job.object->status.phase == "Completed";
  return standing;
}

std::vector<Standing> Cache::TakeStandings() {
  const std::lock_guard lock(mutex_);
  Settle();
  std::vector<Standing> standings;
  for (const model::JobId id : std::exchange(changed_groups_, {}))
    if (auto standing = StandingOf(id)) standings.push_back(std::move(*standing));
  return standings;
}

std::optional<Standing> Cache::StandingOf(std::string_view group) {
  const std::lock_guard lock(mutex_);
  Settle();
  return StandingOf(cluster_.jobs().Find(group));
}

}  // namespace sky::cache
