// SPDX-License-Identifier: Apache-2.0
#include "plugins/storage/storage.h"

#include <algorithm>

#include "api/keys.h"
#include "model/facts.h"

namespace sky::plugins {

using framework::Reads;
using model::NodeId;
using model::QuotaId;
using model::Reason;
using model::TaskId;

namespace {

std::string_view NoteOf(const api::ObjectMeta& meta) {
  return meta.Annotation(api::key::kRequiredMountPoints);
}

}  // namespace

// What the pod and its group declare together.
const std::vector<std::string>& Storage::DemandOf(const model::Cluster& cluster, TaskId task_id) {
  static const std::vector<std::string> kNone;
  const model::Task& task = cluster.tasks()[task_id];
  const auto group = task.job.valid() ? cluster.jobs()[task.job].object : nullptr;
  const std::string_view own = NoteOf(task.facts->meta());
  const std::string_view shared = group ? NoteOf(group->metadata) : std::string_view{};
  if (own.empty() && shared.empty()) return kNone;
  Demand& demand = demands_[task_id.index()];
  if (demand.pod == task.facts && demand.group == group) return demand.ids;
  demand = {task.facts, group, model::PartsOf(own)};
  std::ranges::move(model::PartsOf(shared), std::back_inserter(demand.ids));
  std::ranges::sort(demand.ids);
  const auto again = std::ranges::unique(demand.ids);
  demand.ids.erase(again.begin(), again.end());
  return demand.ids;
}

// Of so many mount points, so many are ready there.
Storage::Verdict Storage::Ready(const model::Cluster& cluster, TaskId task, NodeId node) {
  const std::vector<std::string>& wanted = DemandOf(cluster, task);
  if (wanted.empty()) return std::nullopt;
  const std::vector<std::string>& mounts = cluster.nodes()[node].mounts;
  const auto ready = std::ranges::count_if(
      wanted, [&](const std::string& id) { return std::ranges::binary_search(mounts, id); });
  if (ready == std::ssize(wanted)) return model::Verdict::Fit();
  return model::Verdict::NotNow(Reason::kStorageNotReady, std::ssize(wanted), ready);
}

void Storage::OnSessionOpen(framework::Session& session) {
  demands_.clear();
  const model::Cluster& cluster = session.cluster();
  // What a group declares isn't part of its tasks' class, so no answer is kept for a class.
  session.task_to_node.AddPredicate("storage", Reads::kRelational, [&](TaskId task, NodeId node) {
    return Ready(cluster, task, node);
  });
  session.task_to_quota.AddPredicate("storage", Reads::kNodeDynamic,
                                     [&](TaskId task, QuotaId quota) -> Verdict {
                                       const NodeId node = cluster.quotas()[quota].place();
                                       if (!node.valid()) return std::nullopt;
                                       return Ready(cluster, task, node);
                                     });
  session.quota_to_node.AddPredicate("storage", Reads::kRelational,
                                     [&](QuotaId quota, NodeId node) -> Verdict {
                                       Verdict answer;
                                       for (const TaskId task : cluster.quotas()[quota].tasks) {
                                         const Verdict one = Ready(cluster, task, node);
                                         if (one && !one->fit()) return one;
                                         if (one) answer = one;
                                       }
                                       return answer;
                                     });
}

framework::PluginKind Storage::Kind() {
  return {[](const framework::PluginArgs& args,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            // SettingsOf hands it to the model, which reads the conditions.
            TRY(args.Time("heartbeatTolerance", model::Settings{}.mount_tolerance));
            return std::make_unique<Storage>();
          },
          {{"heartbeatTolerance", framework::ArgType::kDuration}},
          {"taskToQuota.predicate", "quotaToNode.predicate", "taskToNode.predicate"}};
}

}  // namespace sky::plugins
