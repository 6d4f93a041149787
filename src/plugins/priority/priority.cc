// SPDX-License-Identifier: Apache-2.0
#include "plugins/priority/priority.h"

#include "framework/session.h"

namespace sky::plugins {

void Priority::OnSessionOpen(framework::Session& session) {
  const model::Cluster& cluster = session.cluster();
  session.job_order.Add("priority",
                        [&](model::JobId job) { return -int64_t{cluster.jobs()[job].priority}; });
  session.queue_order.Add("priority", [&](model::QueueId queue) -> std::optional<int64_t> {
    const auto& object = cluster.queues()[queue].object;
    return object ? -int64_t{object->spec.priority} : 0;
  });
}

framework::PluginKind Priority::Kind() {
  return {[](const framework::PluginArgs&,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<Priority>();
          },
          {},
          {"jobOrder", "queueOrder"}};
}

}  // namespace sky::plugins
