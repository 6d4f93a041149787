// SPDX-License-Identifier: Apache-2.0
#include "framework/config_fields.h"

#include <algorithm>

namespace sky::framework {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<std::string_view, 2> kCommitOrders = {"placementFirst", "quotaFirst"};
constexpr std::array<std::string_view, 2> kZoneSources = {"switchSet", "leafGroup"};
constexpr std::array<std::string_view, 2> kPicks = {"index", "leastFragment"};

bool OnlyHas(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != more.npos;
  });
}

Status CheckSchedulerName(std::string_view name) {
  if (!name.empty() && name.size() <= 253 && OnlyHas(name, ".-")) return {};
  return Fail(Code::kInvalid, "must be letters, digits, '.' and '-', at most 253, not '{}'", name);
}

Status CheckLabelKey(std::string_view key) {
  const size_t slash = key.find('/');
  const std::string_view prefix = slash == key.npos ? std::string_view() : key.substr(0, slash);
  const std::string_view name = slash == key.npos ? key : key.substr(slash + 1);
  const bool prefix_fits =
      slash == key.npos || (!prefix.empty() && prefix.size() <= 253 && OnlyHas(prefix, ".-"));
  if (prefix_fits && !name.empty() && name.size() <= 63 && OnlyHas(name, "._-")) return {};
  return Fail(Code::kInvalid, "must be a label key such as example.com/spec, not '{}'", key);
}

Status CheckExtendedResource(std::string_view name) {
  if (CheckLabelKey(name) && name.find('/') != name.npos) return {};
  return Fail(Code::kInvalid,
              "must be a qualified resource name such as example.com/spot-gpu, not '{}'", name);
}

const std::array<Field, 25> kFields = {{
    {"schedulerName", TextField{&Config::scheduler_name, CheckSchedulerName}},
    {"period", DurationField{&Config::period, milliseconds(1)}},
    {"batchDelay", DurationField{&Config::batch_delay, {}}},
    {"commitOrder", ChoiceField<CommitOrder>{&Config::commit_order, kCommitOrders}},
    {"actions", ActionsField{}},
    {"specLabelKeys", TextsField{&Config::spec_label_keys, CheckLabelKey}},
    {"topologyResources", ResourcesField{&Config::topology_resources}},
    {"spotResource", TextField{&Config::spot_resource, CheckExtendedResource}},
    {"spotDevice", TextField{&Config::spot_device, CheckExtendedResource}},
    {"minFixQuotaInterval", DurationField{&Config::min_fix_quota_interval, {}}},
    {"minRunTime", DurationField{&Config::min_run_time, {}}},
    {"startTimeout", DurationField{&Config::start_timeout, seconds(1)}},
    {"claimTimeout", DurationField{&Config::claim_timeout, seconds(1)}},
    {"staticGrace", DurationField{&Config::static_grace, {}}},
    {"reservationTTL", DurationField{&Config::reservation_ttl, {}}},
    {"nodeLostAfter", DurationField{&Config::node_lost_after, {}}},
    {"zonePatience", DurationField{&Config::zone_patience, {}}},
    {"zoneHoldDown", DurationField{&Config::zone_hold_down, {}}},
    {"zoneFrom", ChoiceField<ZoneFrom>{&Config::zone_from, kZoneSources}},
    {"pick", ChoiceField<Pick>{&Config::pick, kPicks}},
    {"starveAfter", DurationField{&Config::starve_after, {}}},
    {"earmarkStall", DurationField{&Config::earmark_stall, seconds(1)}},
    {"earmarkMax", LimitField{&Config::earmark_max, seconds(1)}},
    {"plugins", PluginsField{}},
    {"expressions", ExpressionsField{}},
}};

}  // namespace

std::span<const Field> ConfigFields() { return kFields; }

}  // namespace sky::framework
