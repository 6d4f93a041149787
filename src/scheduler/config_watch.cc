// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config_watch.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace sky::scheduler {

using framework::Config;

std::vector<std::string> KeepFixed(const Config& running, Config& next) {
  std::vector<std::string> kept;
  const auto keep = [&](const char* key, auto Config::* member) {
    if (next.*member == running.*member) return;
    next.*member = running.*member;
    kept.emplace_back(key);
  };
  // The cache's memory is read through these, or a part that is made once holds them.
  keep("schedulerName", &Config::scheduler_name);
  keep("commitOrder", &Config::commit_order);
  keep("specLabelKeys", &Config::spec_label_keys);
  keep("topologyResources", &Config::topology_resources);
  keep("spotResource", &Config::spot_resource);
  keep("spotDevice", &Config::spot_device);
  keep("minFixQuotaInterval", &Config::min_fix_quota_interval);
  keep("minRunTime", &Config::min_run_time);
  keep("startTimeout", &Config::start_timeout);
  keep("claimTimeout", &Config::claim_timeout);
  keep("reservationTTL", &Config::reservation_ttl);
  keep("zoneHoldDown", &Config::zone_hold_down);
  keep("zoneFrom", &Config::zone_from);
  if (framework::SettingsOf(running).mount_tolerance != framework::SettingsOf(next).mount_tolerance)
    kept.emplace_back("heartbeatTolerance of the plugin storage");
  return kept;
}

ConfigWatch::ConfigWatch(kube::Loop& loop, std::string file, framework::Registry registry,
                         Config running, Callbacks callbacks)
    : loop_(loop),
      file_(std::move(file)),
      registry_(std::move(registry)),
      running_(std::move(running)),
      callbacks_(std::move(callbacks)) {}

void ConfigWatch::Start() {
  loop_.RunAfter(kEvery, alive_.Guard([this] {
    Look();
    Start();
  }));
}

void ConfigWatch::Look() {
  const Result<std::string> text = ReadFile(file_);
  // Not a text that a file could hold.
  std::string now = text ? *text : std::string(1, '\0') + text.error().message();
  if (!any_ || now != candidate_) {
    any_ = true;
    candidate_ = std::move(now);
    return;
  }
  if (now == decided_) return;
  decided_ = std::move(now);
  if (text)
    Take(*text);
  else
    Refuse(text.error().message());
}

void ConfigWatch::Refuse(const std::string& why) {
  refused_ = true;
  callbacks_.tell(
      true, "ConfigRefused",
      fmt::format("the changed configuration is not taken, the running one stays: {}", why));
}

void ConfigWatch::Take(const std::string& text) {
  auto loaded = framework::LoadConfig(text, file_, registry_.Known());
  if (!loaded) return Refuse(loaded.error().message());
  Config next = std::move(loaded->config);
  const std::vector<std::string> kept = KeepFixed(running_, next);
  const bool again = std::exchange(refused_, false);
  const bool changed = !(next == running_);
  if (changed) {
    auto engine = framework::Engine::Make(registry_, next);
    if (!engine) return Refuse(engine.error().message());
    for (const std::string& warning : loaded->warnings) spdlog::warn("{}", warning);
    running_ = std::move(next);
    callbacks_.use(std::move(*engine));
  }
  if (!kept.empty())
    callbacks_.tell(true, "ConfigNeedsRestart",
                    fmt::format("{} can't change while the program runs: what the file says of {} "
                                "counts from its next start",
                                fmt::join(kept, ", "), kept.size() == 1 ? "it" : "them"));
  if (changed || again)
    callbacks_.tell(false, "ConfigReloaded", "the changed configuration is in force");
}

}  // namespace sky::scheduler
