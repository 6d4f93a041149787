// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks.h"

#include <algorithm>
#include <array>

namespace sky::framework {
namespace {

using enum expr::Type;

constexpr std::array<Callback, 31> kCallbacks = {{
    {"taskToQuota.select", kVerdict, "joint(all)", true},
    {"taskToQuota.prePredicate", kVerdict, "or(all)", true},
    {"taskToQuota.predicate", kVerdict, "joint(quotapredicates, quotaaffinity, storage)", true},
    {"taskToQuota.nOrder", kScore, "sum(all)", false},
    {"taskToQuota.batchNOrder", kScore, "sum(all)", false},
    {"taskToQuota.bestN", kTarget, "or(all)", false},

    {"quotaToNode.select", kVerdict, "joint(all)", true},
    {"quotaToNode.prePredicate", kVerdict, "or(all)", true},
    {"quotaToNode.predicate", kVerdict,
     "joint(predicates, quotapredicates, quotaaffinity, storage)", true},
    {"quotaToNode.nOrder", kScore, "sum(topology*10, sylas*10, binpack, nodeorder, quotaaffinity)",
     false},
    {"quotaToNode.batchNOrder", kScore, "sum(topology*10, sylas*10, binpack, nodeorder)", false},
    {"quotaToNode.bestN", kTarget, "or(topology)", false},

    {"taskToNode.select", kVerdict, "joint(all)", true},
    {"taskToNode.prePredicate", kVerdict, "or(all)", true},
    {"taskToNode.predicate", kVerdict, "joint(all)", true},
    {"taskToNode.nOrder", kScore, "sum(topology, sylas*10, binpack)", false},
    {"taskToNode.batchNOrder", kScore, "sum(all)", false},
    {"taskToNode.bestN", kTarget, "or(all)", false},

    {"jobOrder", kOrderKey, "first(priority, gang, jobqueue, drf)", false},
    {"queueOrder", kOrderKey, "first(all)", false},
    {"taskOrder", kOrderKey, "first(all)", false},

    {"jobValid", kVerdict, "joint(all)", true},
    {"jobEnqueueable", kBool, "and(all)", true},
    {"jobReady", kBool, "and(gang)", true},
    {"quotaReady", kBool, "and(gang, quotapredicates)", true},
    {"quotaAllocate", kBool, "and(gang, topology)", true},
    {"jobPipelined", kBool, "and(all)", true},
    {"jobStarving", kBool, "and(all)", false},
    {"preemptable", kSet, "intersect(all)", true},
    {"reclaimable", kSet, "intersect(all)", true},
    {"overused", kBool, "or(all)", true},
}};

}  // namespace

std::span<const Callback> AllCallbacks() { return kCallbacks; }

std::optional<size_t> FindCallback(std::string_view name) {
  const auto named = [&](const Callback& callback) { return callback.name == name; };
  const auto* found = std::find_if(kCallbacks.begin(), kCallbacks.end(), named);
  if (found == kCallbacks.end()) return std::nullopt;
  return static_cast<size_t>(found - kCallbacks.begin());
}

}  // namespace sky::framework
