// SPDX-License-Identifier: Apache-2.0
// The engine: plugins and actions made once from the configuration, and a cycle run over a cluster.
// The same engine serves the real scheduler, scenarios under a virtual clock, replays and what-if.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/plugin.h"
#include "framework/session.h"

namespace sky::framework {

struct CycleResult {
  std::vector<cache::Round> committed;
  std::vector<uint64_t> approved;
  std::vector<cache::GivenUp> given_up;
  std::vector<cache::Eviction> evictions;
  std::map<model::JobId, Refusals> refusals;
  std::vector<model::JobId> asleep;             // sorted; what was last said of them still holds
  std::map<model::JobId, bool> admitted;        // what JobEnqueueable said of whom it was asked
  std::map<std::string, std::string> earmarks;  // by the job's name, what its condition says
  std::vector<std::string> unread;  // groups whose jobs would be planned if they were read again
  bool conflicted = false;
  bool unfinished = false;  // the budget didn't reach every job
  // When a plugin with a controller of its own wants to be told of time; absent: none does.
  std::optional<WallTime> next_reconcile;
};

class Engine {
 public:
  // Fails when a plugin refuses its arguments.
  static Result<std::unique_ptr<Engine>> Make(const Registry& registry, Config config);

  // Tells controllers whose moment has come, then runs the configured actions over `cluster`, which
  // the session changes; `commit` assumes rounds.
  CycleResult Run(model::Cluster& cluster, Instant now, uint64_t cycle, Session::Committer commit);

  const Config& config() const { return config_; }

 private:
  explicit Engine(Config config) : config_(std::move(config)) {}

  Config config_;
  std::vector<std::unique_ptr<Plugin>> plugins_;
  std::vector<ReconcilablePlugin*> controllers_;  // of these plugins
  std::vector<std::unique_ptr<Action>> actions_;
  Session::Kept kept_;
};

// What the model must be told, from the configuration.
model::Settings SettingsOf(const Config& config);

}  // namespace sky::framework
