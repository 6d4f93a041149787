// SPDX-License-Identifier: Apache-2.0
#include "plugins/backoff/backoff.h"

#include "framework/session.h"

namespace sky::plugins {

void Backoff::OnSessionOpen(framework::Session& session) {
  const model::Cluster& cluster = session.cluster();
  session.job_valid.Add("backoff", [&](model::JobId job) -> std::optional<model::Verdict> {
    const model::Reason reason = cluster.jobs()[job].backoff;
    if (reason == model::Reason::kNone) return std::nullopt;
    return model::Verdict::NotNow(reason);
  });
}

framework::PluginKind Backoff::Kind() {
  return {[](const framework::PluginArgs&, const framework::Config&)
              -> Result<std::unique_ptr<framework::Plugin>> { return std::make_unique<Backoff>(); },
          {},
          {"jobValid"}};
}

}  // namespace sky::plugins
