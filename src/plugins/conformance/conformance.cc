// SPDX-License-Identifier: Apache-2.0
#include "plugins/conformance/conformance.h"

#include <algorithm>

#include "framework/session.h"

namespace sky::plugins {
namespace {

bool OfTheSystem(const model::Task& task) {
  const api::Pod& pod = *task.facts->pod;
  const std::string& priority_class = pod.spec.priority_class_name;
  return priority_class == "system-cluster-critical" || priority_class == "system-node-critical" ||
         pod.metadata.namespace_ == "kube-system";
}

}  // namespace

void Conformance::OnSessionOpen(framework::Session& session) {
  const auto spared = [&cluster = session.cluster()](model::TaskId,
                                                     std::span<const model::TaskId> candidates) {
    std::vector<model::TaskId> victims;
    for (const model::TaskId task : candidates)
      if (!OfTheSystem(cluster.tasks()[task])) victims.push_back(task);
    std::sort(victims.begin(), victims.end());
    return victims;
  };
  session.preemptable.Add("conformance", spared);
  session.reclaimable.Add("conformance", spared);
}

framework::PluginKind Conformance::Kind() {
  return {[](const framework::PluginArgs&,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<Conformance>();
          },
          {},
          {"preemptable", "reclaimable"}};
}

}  // namespace sky::plugins
