// SPDX-License-Identifier: Apache-2.0
#include "framework/engine.h"

namespace sky::framework {

KnownNames Registry::Known() const {
  KnownNames known;
  for (const auto& [name, kind] : plugins)
    known.plugins.push_back({name, kind.args, kind.callbacks});
  for (const auto& [name, make] : actions) known.actions.push_back(name);
  return known;
}

Result<std::unique_ptr<Engine>> Engine::Make(const Registry& registry, Config config) {
  std::unique_ptr<Engine> engine(new Engine(std::move(config)));
  for (const PluginConfig& wanted : engine->config_.plugins) {
    const auto kind = registry.plugins.find(wanted.name);
    if (kind == registry.plugins.end())
      return Fail(Code::kInvalid, "unknown plugin \"{}\"", wanted.name);
    engine->plugins_.push_back(TRY(kind->second.make(wanted.args, engine->config_)));
    if (auto* controller = dynamic_cast<ReconcilablePlugin*>(engine->plugins_.back().get()))
      engine->controllers_.push_back(controller);
  }
  for (const std::string& wanted : engine->config_.actions) {
    const auto make = registry.actions.find(wanted);
    if (make == registry.actions.end())
      return Fail(Code::kInvalid, "unknown action \"{}\"", wanted);
    engine->actions_.push_back(make->second());
  }
  return engine;
}

CycleResult Engine::Run(model::Cluster& cluster, Instant now, uint64_t cycle,
                        Session::Committer commit) {
  for (ReconcilablePlugin* controller : controllers_)
    if (const auto due = controller->NextReconcile(); due && *due <= now.wall)
      controller->Reconcile(now.wall);
  Session session(cluster, config_, now, cycle, std::move(commit), kept_);
  for (const auto& plugin : plugins_) plugin->OnSessionOpen(session);
  session.CompileExpressions();
  for (const auto& action : actions_) action->Execute(session);
  session.rounds.clear();
  cluster.Flush();
  for (const auto& plugin : plugins_) plugin->OnSessionClose(session);
  CycleResult result{session.committed(),  session.approved(),        session.given_up,
                     session.evictions,    session.refusals(),        session.asleep,
                     session.admitted,     kept_.earmarks.messages(), session.unread,
                     session.conflicted(), session.unfinished(),      std::nullopt};
  for (const ReconcilablePlugin* controller : controllers_)
    if (const auto due = controller->NextReconcile();
        due && (!result.next_reconcile || *due < *result.next_reconcile))
      result.next_reconcile = due;
  return result;
}

model::Settings SettingsOf(const Config& config) {
  model::Settings settings;
  settings.scheduler_name = config.scheduler_name;
  settings.spec_label_keys = config.spec_label_keys;
  settings.roce_resources = config.topology_resources.roce;
  settings.ib_resources = config.topology_resources.ib;
  settings.spot_resource = config.spot_resource;
  settings.spot_device = config.spot_device;
  settings.min_run_time = config.min_run_time;
  settings.zone_from_leaf_groups = config.zone_from == ZoneFrom::kLeafGroup;
  settings.zone_hold_down = config.zone_hold_down;
  settings.reservation_ttl = config.reservation_ttl;
  for (const PluginConfig& plugin : config.plugins)
    if (plugin.name == "storage")
      settings.mount_tolerance = plugin.args.Time("heartbeatTolerance", settings.mount_tolerance)
                                     .value_or(settings.mount_tolerance);
  return settings;
}

}  // namespace sky::framework
