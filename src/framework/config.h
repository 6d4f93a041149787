// SPDX-License-Identifier: Apache-2.0
// The configuration of the scheduler: every key with its default, the plugins with their arguments,
// and the expressions that combine what plugins answer. LoadConfig reads YAML and refuses whatever
// it doesn't know or can't mean, each problem as file:line:column with the nearest known name; an
// empty document is all defaults. A value: made once at the start, lent to every session, never
// changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "expr/expression.h"
#include "framework/callbacks.h"
#include "framework/plugin_args.h"

namespace sky::framework {

enum class CommitOrder : uint8_t {
  kPlacementFirst,  // bindings follow the acknowledged Placement; quota statuses trail
  kQuotaFirst,      // bindings wait for the quota statuses; one refused rolls the job back
};
enum class ZoneFrom : uint8_t {
  kSwitchSet,  // nodes with the same set of switches
  kLeafGroup,  // groups of leaf switches: robust against swapped cables
};
enum class Pick : uint8_t {
  kIndex,          // the lowest node index
  kLeastFragment,  // breaks the fewest whole nodes, then the lowest index
};

struct PluginConfig {
  std::string name;
  PluginArgs args;
  bool operator==(const PluginConfig&) const = default;
};

// The resources that ask for topology; globs such as "rdma/*" are allowed.
struct TopologyResources {
  std::vector<std::string> roce = {"rdma/roce"};
  std::vector<std::string> ib = {"rdma/hca"};
  bool operator==(const TopologyResources&) const = default;
};

// Members stand in the order of the file's keys, which are their names in camelCase. A duration is
// written with its unit: "20ms", "1m30s".
struct Config {
  std::string scheduler_name = "sky-scheduler";  // pods with this schedulerName are ours
  Duration period = std::chrono::seconds(1);     // the longest wait between two cycles
  Duration batch_delay =
      std::chrono::milliseconds(20);  // from the first unhandled event to its cycle
  CommitOrder commit_order = CommitOrder::kPlacementFirst;
  std::vector<std::string> actions;  // each once, in the order of a cycle
  std::vector<std::string> spec_label_keys = {"scheduling.infini-ai.com/spec", "spec",
                                              "nvidia.com/gpu.product"};
  TopologyResources topology_resources;
  std::string spot_resource = "infini-ai.com/spot-gpu";
  std::string spot_device = "nvidia.com/gpu";                  // the cards that a spot pod uses
  Duration min_fix_quota_interval = std::chrono::seconds(10);  // between two rounds of healing
  Duration min_run_time = std::chrono::minutes(5);    // a spot pod younger than this is no victim
  Duration start_timeout = std::chrono::minutes(5);   // a gang not whole after this is PartialStart
  Duration claim_timeout = std::chrono::seconds(60);  // a claim whose room didn't come is replanned
  Duration static_grace =
      std::chrono::seconds(60);  // a static node unusable this long no longer binds
  Duration reservation_ttl = std::chrono::minutes(10);
  Duration node_lost_after =
      std::chrono::seconds(60);  // NotReady this long: its bindings are released
  Duration zone_patience = std::chrono::seconds(0);    // wait for one zone before using several
  Duration zone_hold_down = std::chrono::seconds(60);  // a lost switch counts after this
  ZoneFrom zone_from = ZoneFrom::kSwitchSet;
  Pick pick = Pick::kIndex;
  Duration starve_after = std::chrono::seconds(30);  // a gang that waited this long gets an earmark
  Duration earmark_stall =
      std::chrono::minutes(30);         // nothing freed this long: the earmark may move
  std::optional<Duration> earmark_max;  // then it passes on; "none" is never
  std::vector<PluginConfig> plugins;    // enabled ones, in the order that first and or use
  std::map<std::string, expr::Expression, std::less<>> expressions;  // every callback of the table

  bool operator==(const Config&) const = default;
};

struct KnownPlugin {
  std::string name;
  std::vector<ArgSpec> args;
  std::vector<std::string> callbacks;  // that it may register; warnings are made of this
};

// What a configuration may name.
struct KnownNames {
  std::vector<KnownPlugin> plugins;
  std::vector<std::string> actions;
  std::span<const Callback> callbacks = AllCallbacks();
};

struct LoadedConfig {
  Config config;
  std::vector<std::string> warnings;  // "sched.yaml:31:16: …"
};

// All actions and plugins that are known, in the order that the documentation gives them; the ones
// that it doesn't name come last. What a default expression names and nobody knows abstains.
Config DefaultConfig(const KnownNames& known);

// All problems at once, a line each, in the order of the file. `origin` is the file's name.
Result<LoadedConfig> LoadConfig(std::string_view document, std::string_view origin,
                                const KnownNames& known);

// The effective configuration as YAML: every key and every expression. Loads to an equal Config.
std::string PrintConfig(const Config& config);

}  // namespace sky::framework
