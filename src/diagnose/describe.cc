// SPDX-License-Identifier: Apache-2.0
#include "diagnose/describe.h"

#include <vector>

#include "base/text.h"
#include "diagnose/step.h"
#include "model/resources.h"

namespace sky::diagnose {
namespace {

using model::Reason;

std::string Counted(const model::Verdict& verdict) {
  switch (verdict.reason) {
    case Reason::kNotEnoughPods:
    case Reason::kGated:
      return fmt::format("{} of {} members can run", verdict.have, verdict.wanted);
    case Reason::kInsufficientQuota:
    case Reason::kInsufficientQuotaIdle:
      return fmt::format("{} of {} members have a quota with a place", verdict.have,
                         verdict.wanted);
    case Reason::kInsufficientIdle:
      return verdict.have < verdict.wanted
                 ? fmt::format("the nodes have room for {} of {}", verdict.have, verdict.wanted)
                 : fmt::format("each of {} has room, but not all of them together", verdict.wanted);
    case Reason::kZoneFull:
      return fmt::format("the zone with most room takes {} of {}", verdict.have, verdict.wanted);
    case Reason::kNoZoneFits:
      return fmt::format("no zone is large enough; the best takes {} of {}", verdict.have,
                         verdict.wanted);
    case Reason::kLargerThanPossible:
      return fmt::format("the empty cluster holds {} of {}", verdict.have, verdict.wanted);
    default:
      return {};
  }
}

// Reasons that hold no numbers: what stands between the task and a node.
std::string_view Plainly(Reason reason) {
  switch (reason) {
    case Reason::kNodeNotReady:
      return "not ready";
    case Reason::kNodeUnschedulable:
      return "cordoned";
    case Reason::kTaintNotTolerated:
      return "a taint that it doesn't tolerate";
    case Reason::kNodeSelectorMismatch:
      return "without the labels that it or its quota asks for";
    case Reason::kNodeAffinityMismatch:
      return "not what its node affinity asks for";
    case Reason::kPortConflict:
      return "its host port is taken";
    case Reason::kNoTopology:
      return "no known switch";
    case Reason::kStaticNodeNotReady:
      return "its quota waits for its static node";
    case Reason::kStorageNotReady:
      return "not all of the storage that it mounts is ready";
    case Reason::kQuotaAffinityNotMatch:
      return "not near the quotas that its quota asks for, or near others that keep apart";
    case Reason::kPodQuotaAffinityNotMatch:
      return "the pod and the quotas there don't go together";
    default:
      return {};
  }
}

// Said by the job, its group or its queue, and not by so many nodes, quotas or tasks.
bool OfTheJob(Reason reason) {
  return reason == Reason::kBackoff ||
         (StepOf(reason) == Step::kEnqueue && reason != Reason::kBlockedByJobQueue &&
          reason != Reason::kStorageNotReady);
}

}  // namespace

std::string AmountText(int64_t amount, model::ResourceId id, const model::Names& names) {
  const std::string_view name = names.resources.Name(id);
  return model::ResourceNames::InBytes(name)
             ? api::Quantity::Units(amount, api::Quantity::Format::kBinarySI).ToString()
             : api::Quantity::Milli(amount).ToString();
}

std::string Numbers(const model::Verdict& verdict, const model::Names& names) {
  if (verdict.resource.valid())
    return fmt::format("asks {} {}, {} left", AmountText(verdict.wanted, verdict.resource, names),
                       names.resources.Name(verdict.resource),
                       AmountText(verdict.have, verdict.resource, names));
  return verdict.wanted > 0 ? Counted(verdict) : std::string();
}

std::string Describe(const framework::Refusals& why, const model::Names& names) {
  std::string first = why.detail;
  if (const auto example = why.examples.find(why.main);
      first.empty() && example != why.examples.end())
    first = Numbers(example->second, names);
  std::vector<std::string> others;
  if (const std::string_view plainly = Plainly(why.main); first.empty() && !plainly.empty()) {
    first = plainly;
    others.push_back(fmt::format("on {}", why.counts.at(why.main)));
  }
  std::string text = why.who;
  if (!first.empty()) text += (text.empty() ? "" : ": ") + first;
  for (const auto& [reason, count] : why.counts) {
    if (reason == why.main) continue;
    const model::Verdict& example = why.examples.at(reason);
    const std::string what =
        example.resource.valid() ? fmt::format(" {}", names.resources.Name(example.resource)) : "";
    others.push_back(fmt::format("{}{}", model::ReasonName(reason), what));
    if (!OfTheJob(reason)) others.back() += fmt::format(" on {}", count);
  }
  if (!others.empty())
    text += fmt::format("{}({})", text.empty() ? "" : " ", fmt::join(others, ", "));
  constexpr size_t kMax = 960;  // with its reason in front, an event takes it
  return std::string(CutText(text, kMax));
}

std::string WithReason(std::string_view reason, std::string_view words) {
  return words.empty() ? std::string(reason) : fmt::format("{}: {}", reason, words);
}

}  // namespace sky::diagnose
