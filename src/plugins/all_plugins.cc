// SPDX-License-Identifier: Apache-2.0
#include "plugins/all_plugins.h"

#include "plugins/backoff/backoff.h"
#include "plugins/binpack/binpack.h"
#include "plugins/conformance/conformance.h"
#include "plugins/drf/drf.h"
#include "plugins/gang/gang.h"
#include "plugins/jobqueue/jobqueue.h"
#include "plugins/nodeorder/nodeorder.h"
#include "plugins/predicates/predicates.h"
#include "plugins/priority/priority.h"
#include "plugins/quotaaffinity/quotaaffinity.h"
#include "plugins/quotapredicates/quotapredicates.h"
#include "plugins/rescheduling/rescheduling.h"
#include "plugins/storage/storage.h"
#include "plugins/sylas/sylas.h"
#include "plugins/topology/topology.h"

namespace sky::plugins {

void AddAllPlugins(framework::Registry& registry) {
  registry.plugins.emplace("priority", Priority::Kind());
  registry.plugins.emplace("gang", Gang::Kind());
  registry.plugins.emplace("predicates", Predicates::Kind());
  registry.plugins.emplace("quotapredicates", QuotaPredicates::Kind());
  registry.plugins.emplace("topology", Topology::Kind());
  registry.plugins.emplace("sylas", Sylas::Kind());
  registry.plugins.emplace("binpack", Binpack::Kind());
  registry.plugins.emplace("nodeorder", NodeOrder::Kind());
  registry.plugins.emplace("conformance", Conformance::Kind());
  registry.plugins.emplace("drf", Drf::Kind());
  registry.plugins.emplace("jobqueue", JobQueues::Kind());
  registry.plugins.emplace("backoff", Backoff::Kind());
  registry.plugins.emplace("quotaaffinity", QuotaAffinity::Kind());
  registry.plugins.emplace("storage", Storage::Kind());
  registry.plugins.emplace("rescheduling", Rescheduling::Kind());
}

}  // namespace sky::plugins
