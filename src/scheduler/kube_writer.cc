// SPDX-License-Identifier: Apache-2.0
#include "scheduler/kube_writer.h"

#include <nlohmann/json.hpp>

namespace sky::scheduler {
namespace {

using cache::Done;
using cache::Written;

constexpr std::string_view kFieldManager = "sky-scheduler";

template <class T>
auto WithoutBody(Done<Written> done) {
  return [done = std::move(done)](Result<T> answer) {
    if (answer)
      done(Written{});
    else
      done(std::unexpected(std::move(answer).error()));
  };
}

auto FromStatus(Done<Written> done) {
  return [done = std::move(done)](Status answer) {
    if (answer)
      done(Written{});
    else
      done(std::unexpected(std::move(answer).error()));
  };
}

nlohmann::json ConditionJson(const api::Condition& condition) {
  nlohmann::json out = {{"type", condition.type},
                        {"status", condition.status},
                        {"reason", condition.reason},
                        {"message", condition.message}};
  if (condition.last_transition_time.at)
    out["lastTransitionTime"] = FormatTime(*condition.last_transition_time.at);
  return out;
}

std::string ConditionsDocument(const api::Kind& kind, const api::ObjectMeta& object,
                               const std::vector<api::Condition>& conditions) {
  nlohmann::json list = nlohmann::json::array();
  nlohmann::json metadata = {{"name", object.name}, {"namespace", object.namespace_}};
  if (!object.uid.empty()) metadata["uid"] = object.uid;
  if (!object.resource_version.empty()) metadata["resourceVersion"] = object.resource_version;
  for (const api::Condition& condition : conditions) list.push_back(ConditionJson(condition));
  return nlohmann::json{{"apiVersion", kind.ApiVersion()},
                        {"kind", kind.kind},
                        {"metadata", std::move(metadata)},
                        {"status", {{"conditions", std::move(list)}}}}
      // A message may quote anybody, a proxy's page too: what is no UTF-8 is replaced.
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

// Without time left the call fails with kCancelled before anything is sent.
kube::CallOptions KubeWriter::Write(kube::Urgency urgency) const {
  kube::CallOptions options;
  options.timeout = leadership_.leading() ? leadership_.WriteTimeout().value_or(Duration::zero())
                                          : Duration::zero();
  options.urgency = urgency;
  return options;
}

kube::CallOptions KubeWriter::Read() const {
  kube::CallOptions options;
  options.timeout = std::chrono::seconds(5);
  options.urgency = kube::Urgency::kDecision;
  return options;
}

void KubeWriter::CreatePlacement(const api::Placement& placement, Done<api::Placement> done) {
  client_.Create<api::Placement>(placement, Write(kube::Urgency::kDecision), std::move(done));
}

void KubeWriter::UpdatePlacement(const api::Placement& placement, Done<api::Placement> done) {
  client_.Update<api::Placement>(placement, Write(kube::Urgency::kDecision), std::move(done));
}

void KubeWriter::GetPlacement(const std::string& ns, const std::string& name,
                              Done<api::Placement> done) {
  client_.Get<api::Placement>(ns, name, Read(), std::move(done));
}

void KubeWriter::DeletePlacement(const std::string& ns, const std::string& name,
                                 const std::string& uid, Done<Written> done) {
  kube::DeleteOptions del;
  del.uid = uid;
  client_.Delete<api::Placement>(ns, name, del, Write(kube::Urgency::kDecision),
                                 FromStatus(std::move(done)));
}

void KubeWriter::Bind(const cache::BindRequest& request, Done<Written> done) {
  kube::CallOptions options = Write(kube::Urgency::kDecision);
  options.dry_run = request.dry_run;
  api::StringMap annotations(request.annotations.begin(), request.annotations.end());
  client_.Bind({request.namespace_, request.name, request.uid}, request.node, annotations, options,
               FromStatus(std::move(done)));
}

void KubeWriter::Evict(const std::string& ns, const std::string& name, const std::string& uid,
                       bool dry_run, Done<Written> done) {
  kube::CallOptions options = Write(kube::Urgency::kDecision);
  options.dry_run = dry_run;
  client_.Evict({ns, name, uid}, options, FromStatus(std::move(done)));
}

void KubeWriter::GetPod(const std::string& ns, const std::string& name, Done<api::Pod> done) {
  client_.Get<api::Pod>(ns, name, Read(), std::move(done));
}

void KubeWriter::GetPodGroup(const std::string& ns, const std::string& name,
                             Done<api::PodGroup> done) {
  client_.Get<api::PodGroup>(ns, name, Read(), std::move(done));
}

void KubeWriter::PatchQuotaStatus(const std::string& name, const std::string& body,
                                  Done<Written> done) {
  client_.MergePatch<api::Quota>("", name, kube::Part::kStatus, body,
                                 Write(kube::Urgency::kOrdinary),
                                 WithoutBody<api::Quota>(std::move(done)));
}

void KubeWriter::PatchQueueStatus(const std::string& name, const std::string& body,
                                  Done<Written> done) {
  client_.MergePatch<api::Queue>("", name, kube::Part::kStatus, body,
                                 Write(kube::Urgency::kOrdinary),
                                 WithoutBody<api::Queue>(std::move(done)));
}

void KubeWriter::ApplyPodGroupConditions(const std::string& ns, const std::string& name,
                                         const std::vector<api::Condition>& conditions,
                                         Done<Written> done) {
  api::ObjectMeta group;
  group.namespace_ = ns;
  group.name = name;
  client_.ApplyPatch<api::PodGroup>(
      ns, name, kube::Part::kStatus,
      ConditionsDocument(api::KindOf<api::PodGroup>(), group, conditions),
      {std::string(kFieldManager), true}, Write(kube::Urgency::kOrdinary),
      WithoutBody<api::PodGroup>(std::move(done)));
}

void KubeWriter::ApplyPodCondition(const api::ObjectMeta& pod, const api::Condition& condition,
                                   Done<Written> done) {
  client_.ApplyPatch<api::Pod>(pod.namespace_, pod.name, kube::Part::kStatus,
                               ConditionsDocument(api::KindOf<api::Pod>(), pod, {condition}),
                               {std::string(kFieldManager), true}, Write(kube::Urgency::kOrdinary),
                               WithoutBody<api::Pod>(std::move(done)));
}

void KubeWriter::PatchClaim(const std::string& ns, const std::string& name, const std::string& body,
                            Done<Written> done) {
  client_.MergePatch<api::PersistentVolumeClaim>(
      ns, name, kube::Part::kObject, body, Write(kube::Urgency::kDecision),
      WithoutBody<api::PersistentVolumeClaim>(std::move(done)));
}

void KubeWriter::PatchVolume(const std::string& name, const std::string& body, Done<Written> done) {
  client_.MergePatch<api::PersistentVolume>("", name, kube::Part::kObject, body,
                                            Write(kube::Urgency::kDecision),
                                            WithoutBody<api::PersistentVolume>(std::move(done)));
}

void KubeWriter::CreateQueue(const api::Queue& queue, Done<Written> done) {
  client_.Create<api::Queue>(queue, Write(kube::Urgency::kOrdinary),
                             WithoutBody<api::Queue>(std::move(done)));
}

}  // namespace sky::scheduler
