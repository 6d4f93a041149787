// SPDX-License-Identifier: Apache-2.0
#include "api/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace sky::api {
namespace {

constexpr size_t kMaxSharedQueues = 1000;
constexpr size_t kMaxQuotaSetName = 240;

using Violations = std::vector<Violation>;

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, text) != list.end();
}

void Require(bool holds, std::string field, std::string_view message, Violations& out) {
  if (!holds) out.push_back({std::move(field), std::string(message)});
}

void CheckAmounts(const std::string& field, const ResourceList& amounts, Violations& out) {
  for (const auto& [name, amount] : amounts)
    Require(!amount.IsNegative(), fmt::format("{}[{}]", field, name), "must not be negative", out);
}

// Gt and Lt take what can be a label's value and an int64: up to 18 digits.
bool IsWholeNumber(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool HasRightValues(const SelectorRequirement& requirement) {
  return IsOneOf(requirement.op, {"In", "NotIn"}) == !requirement.values.empty();
}

void CheckLabels(const std::string& field, const std::optional<LabelSelector>& selector,
                 Violations& out) {
  if (!selector)
    return Require(false, field, "must be given: an absent selector selects nothing", out);
  for (size_t i = 0; i < selector->match_expressions.size(); ++i) {
    const auto& requirement = selector->match_expressions[i];
    const std::string at = fmt::format("{}.matchExpressions[{}]", field, i);
    Require(IsOneOf(requirement.op, {"In", "NotIn", "Exists", "DoesNotExist"}), at + ".operator",
            "must be In, NotIn, Exists or DoesNotExist", out);
    Require(HasRightValues(requirement), at,
            "In and NotIn need values, Exists and DoesNotExist take none", out);
  }
}

void CheckNodeTerm(const std::string& field, const NodeSelectorTerm& term, Violations& out) {
  for (size_t i = 0; i < term.match_expressions.size(); ++i) {
    const auto& requirement = term.match_expressions[i];
    const std::string at = fmt::format("{}.matchExpressions[{}]", field, i);
    const bool ordered = IsOneOf(requirement.op, {"Gt", "Lt"});
    Require(ordered || IsOneOf(requirement.op, {"In", "NotIn", "Exists", "DoesNotExist"}),
            at + ".operator", "must be In, NotIn, Exists, DoesNotExist, Gt or Lt", out);
    Require(
        ordered ? requirement.values.size() == 1 && IsWholeNumber(requirement.values[0])
                : HasRightValues(requirement),
        at,
        "In and NotIn need values, Gt and Lt one whole number, Exists and DoesNotExist take none",
        out);
  }
}

void CheckWeight(const std::string& field, int32_t weight, Violations& out) {
  Require(weight >= 1 && weight <= 100, field + ".weight", "must be from 1 to 100", out);
}

void CheckNodeAffinity(const std::string& field, const NodeAffinity& affinity, Violations& out) {
  if (affinity.required) {
    const auto& terms = affinity.required->node_selector_terms;
    const std::string at =
        field + ".requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    Require(!terms.empty(), at, "must have at least one term: none matches no node", out);
    for (size_t i = 0; i < terms.size(); ++i)
      CheckNodeTerm(fmt::format("{}[{}]", at, i), terms[i], out);
  }
  for (size_t i = 0; i < affinity.preferred.size(); ++i) {
    const auto& [weight, preference] = affinity.preferred[i];
    const std::string at =
        fmt::format("{}.preferredDuringSchedulingIgnoredDuringExecution[{}]", field, i);
    CheckWeight(at, weight, out);
    CheckNodeTerm(at + ".preference", preference, out);
  }
}

void CheckQuotaTerm(const std::string& field, const QuotaTerm& term, Violations& out) {
  CheckLabels(field + ".labelSelector", term.label_selector, out);
  Require(IsOneOf(term.topology_key, {"node", "zone"}), field + ".topologyKey",
          "must be node or zone", out);
}

void CheckQuotaTerms(const std::string& field, const std::optional<QuotaTerms>& terms,
                     Violations& out) {
  if (!terms) return;
  const auto check = [&](const std::string& at, const std::optional<QuotaTermSet>& set) {
    if (!set) return;
    for (size_t i = 0; i < set->required.size(); ++i)
      CheckQuotaTerm(fmt::format("{}.required[{}]", at, i), set->required[i], out);
    for (size_t i = 0; i < set->preferred.size(); ++i) {
      const std::string preferred = fmt::format("{}.preferred[{}]", at, i);
      CheckWeight(preferred, set->preferred[i].weight, out);
      CheckQuotaTerm(preferred + ".term", set->preferred[i].term, out);
    }
  };
  check(field + ".affinity", terms->affinity);
  check(field + ".antiAffinity", terms->anti_affinity);
}

void CheckToleration(const std::string& field, const Toleration& toleration, Violations& out) {
  const bool exists = toleration.op == "Exists";
  Require(exists || IsOneOf(toleration.op, {"", "Equal"}), field + ".operator",
          "must be Equal or Exists", out);
  Require(IsOneOf(toleration.effect, {"", "NoSchedule", "PreferNoSchedule", "NoExecute"}),
          field + ".effect", "must be NoSchedule, PreferNoSchedule or NoExecute", out);
  Require(!toleration.key.empty() || exists, field,
          "an empty key, which stands for every taint, needs the operator Exists", out);
  Require(!exists || toleration.value.empty(), field, "Exists takes no value", out);
}

// What a Quota's spec and both kinds of templates share.
void CheckQuotaSpec(const std::string& field, const QuotaSpec& spec, Violations& out) {
  CheckAmounts(field + ".request", spec.request, out);
  for (size_t i = 0; i < spec.tolerations.size(); ++i)
    CheckToleration(fmt::format("{}.tolerations[{}]", field, i), spec.tolerations[i], out);
  if (spec.affinity) {
    if (spec.affinity->node) CheckNodeAffinity(field + ".affinity.node", *spec.affinity->node, out);
    CheckQuotaTerms(field + ".affinity.quota", spec.affinity->quota, out);
    CheckQuotaTerms(field + ".affinity.podQuota", spec.affinity->pod_quota, out);
  }
  const auto& shared = spec.shared_queues;
  Require(shared.size() <= kMaxSharedQueues, field + ".sharedQueues",
          "must have at most 1000 items", out);
  Require(std::set<std::string_view>(shared.begin(), shared.end()).size() == shared.size(),
          field + ".sharedQueues", "must not list a queue twice", out);
  Require(spec.queue_name.empty() || std::ranges::find(shared, spec.queue_name) == shared.end(),
          field + ".sharedQueues", "must not list the quota's own queue", out);
}

void CheckWholeQuotaSpec(const std::string& field, const QuotaSpec& spec, Violations& out) {
  Require(!spec.queue_name.empty(), field + ".queueName", "must name a queue", out);
  Require(!spec.request.empty(), field + ".request", "must list at least one resource", out);
  CheckQuotaSpec(field, spec, out);
}

}  // namespace

Violations Validate(const PodGroup& object) {
  Violations out;
  Require(object.spec.min_member >= 0, "spec.minMember", "must be at least 1", out);
  for (const auto& [role, members] : object.spec.min_task_member)
    Require(members >= 0, fmt::format("spec.minTaskMember[{}]", role), "must not be negative", out);
  CheckAmounts("spec.minResources", object.spec.min_resources, out);
  return out;
}

Violations Validate(const Queue& object) {
  Violations out;
  const auto& [weight, priority, parent, capability, reclaimable, overcommit, quota_template] =
      object.spec;
  Require(weight >= 0, "spec.weight", "must be at least 1", out);
  Require(parent.empty() || parent != object.metadata.name, "spec.parent",
          "a queue can't be its own parent", out);
  CheckAmounts("spec.capability", capability, out);
  for (const auto& [name, ratio] : overcommit)
    Require(ratio.format() != Quantity::Format::kDecimalExponent && ratio >= Quantity::Units(1),
            fmt::format("spec.overcommit[{}]", name),
            "must be at least 1, written without an exponent", out);
  if (quota_template) {
    Require(quota_template->request.empty(), "spec.quotaTemplate.request",
            "must be left out: each quota made takes its task's request", out);
    Require(IsOneOf(quota_template->queue_name, {"", object.metadata.name}),
            "spec.quotaTemplate.queueName", "must be this queue, or left out", out);
    CheckQuotaSpec("spec.quotaTemplate", *quota_template, out);
  }
  return out;
}

Violations Validate(const Quota& object) {
  Violations out;
  CheckWholeQuotaSpec("spec", object.spec, out);
  return out;
}

Violations Validate(const QuotaTerms& terms) {
  Violations out;
  CheckQuotaTerms("", terms, out);
  return out;
}

Violations Validate(const JobQueue& object) {
  Violations out;
  Require(!object.spec.queue.empty(), "spec.queue", "must name a queue", out);
  CheckLabels("spec.jobSelector", object.spec.job_selector, out);
  Require(object.spec.max_running_jobs.value_or(0) >= 0, "spec.maxRunningJobs",
          "must not be negative", out);
  Require(IsOneOf(object.spec.policy, {"", "StrictFIFO", "BestEffortFIFO"}), "spec.policy",
          "must be StrictFIFO or BestEffortFIFO", out);
  return out;
}

Violations Validate(const NodeTopology&) { return {}; }

Violations Validate(const Placement& object) {
  Violations out;
  const PlacementSpec& spec = object.spec;
  Require(!spec.pod_group_uid.empty(), "spec.podGroupUID", "must be given", out);
  Require(spec.round >= 0 && spec.leader_epoch >= 0, "spec",
          "round and leaderEpoch must not be negative", out);
  Require(spec.entries.size() <= kMostPlacementEntries, "spec.entries",
          fmt::format("must have at most {} items", kMostPlacementEntries), out);
  const auto all = [&](auto&& holds, std::string_view message) {
    Require(std::ranges::all_of(spec.entries, holds), "spec.entries", message, out);
  };
  all([](const PlacementEntry& e) { return !e.task.empty() && !e.pod_uid.empty(); },
      "an entry names no task or no podUID");
  all([](const PlacementEntry& e) { return e.quota >= -1 && e.node >= 0 && e.zone >= -1; },
      "an entry points before the start of a table");
  const auto before = [](int32_t index, const auto& table) { return index < std::ssize(table); };
  all([&](const PlacementEntry& e) { return before(e.quota, spec.quotas); },
      "an entry points behind the end of quotas");
  all([&](const PlacementEntry& e) { return before(e.node, spec.nodes); },
      "an entry points behind the end of nodes");
  all([&](const PlacementEntry& e) { return before(e.zone, spec.zones); },
      "an entry points behind the end of zones");
  return out;
}

Violations Validate(const QuotaSet& object) {
  Violations out;
  Require(object.metadata.name.size() <= kMaxQuotaSetName, "",
          "metadata.name must have at most 240 characters, so that -<number> fits behind it", out);
  Require(object.spec.replicas >= 0, "spec.replicas", "must not be negative", out);
  CheckWholeQuotaSpec("spec.template", object.spec.template_, out);
  return out;
}

std::string Describe(const std::vector<Violation>& violations) {
  std::string text;
  for (const auto& [field, message] : violations) {
    if (!text.empty()) text += "; ";
    text += field.empty() ? message : fmt::format("{}: {}", field, message);
  }
  return text;
}

}  // namespace sky::api
