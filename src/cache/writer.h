// SPDX-License-Identifier: Apache-2.0
// The port through which decisions become durable. scheduler/ writes it on the Kubernetes client,
// the lab on its own API server in the process. Every call is asynchronous; each callback runs
// exactly once, on the one thread that owns the executor. Codes: a definite refusal is kNotFound,
// kConflict, kAlreadyExists, kInvalid or kForbidden; kTooManyRequests was not carried out;
// kUnknownOutcome may have been; kUnavailable never left; kCancelled was not sent because the
// lease's deadline is too near (F9).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "api/core.h"
#include "api/crds.h"
#include "api/pod.h"
#include "base/clock.h"

namespace sky::cache {

template <class T>
using Done = std::function<void(Result<T>)>;
struct Written {};  // the write was acknowledged

struct BindRequest {
  std::string namespace_, name, uid, node;
  std::map<std::string, std::string> annotations;
  bool dry_run = false;
};

class ClusterWriter {
 public:
  virtual ~ClusterWriter() = default;

  virtual void CreatePlacement(const api::Placement& placement, Done<api::Placement> done) = 0;
  // PUT under the object's own resourceVersion.
  virtual void UpdatePlacement(const api::Placement& placement, Done<api::Placement> done) = 0;
  virtual void GetPlacement(const std::string& ns, const std::string& name,
                            Done<api::Placement> done) = 0;
  virtual void DeletePlacement(const std::string& ns, const std::string& name,
                               const std::string& uid, Done<Written> done) = 0;
  // With the pod's UID as precondition.
  virtual void Bind(const BindRequest& request, Done<Written> done) = 0;
  // Through the Eviction API, with the pod's UID as precondition: budgets are respected
  // (kTooManyRequests when one is used up), and a namesake isn't touched. `dry_run`: would it be?
  virtual void Evict(const std::string& ns, const std::string& name, const std::string& uid,
                     bool dry_run, Done<Written> done) = 0;
  // Quorum reads.
  virtual void GetPod(const std::string& ns, const std::string& name, Done<api::Pod> done) = 0;
  virtual void GetPodGroup(const std::string& ns, const std::string& name,
                           Done<api::PodGroup> done) = 0;
  // Merge patch of the status subresource; the body holds metadata.resourceVersion where it
  // matters.
  virtual void PatchQuotaStatus(const std::string& name, const std::string& body,
                                Done<Written> done) = 0;
  // Of a queue's status, the same; only what this program owns.
  virtual void PatchQueueStatus(const std::string& name, const std::string& body,
                                Done<Written> done) = 0;
  // Server-side apply of status.conditions by this program's field manager.
  virtual void ApplyPodGroupConditions(const std::string& ns, const std::string& name,
                                       const std::vector<api::Condition>& conditions,
                                       Done<Written> done) = 0;
  // The same for one condition of a pod; kConflict when `pod` has a uid or a resourceVersion and
  // the API's is another one.
  virtual void ApplyPodCondition(const api::ObjectMeta& pod, const api::Condition& condition,
                                 Done<Written> done) = 0;
  // Merge patches that hold metadata.resourceVersion.
  virtual void PatchClaim(const std::string& ns, const std::string& name, const std::string& body,
                          Done<Written> done) = 0;
  virtual void PatchVolume(const std::string& name, const std::string& body,
                           Done<Written> done) = 0;
  virtual void CreateQueue(const api::Queue& queue, Done<Written> done) = 0;
  // Best effort: dropped when too many wait.
  struct EventNote {
    api::ObjectReference regarding;
    bool warning = false;
    std::string reason, action, note;
  };
  virtual void Event(const EventNote& event) = 0;
};

}  // namespace sky::cache
