// SPDX-License-Identifier: Apache-2.0
// ClusterWriter on the Kubernetes client. Each write takes its deadline from the lease and isn't
// sent when there is none left (kCancelled). Lives on the client's loop.
#pragma once

#include <string>

#include "cache/writer.h"
#include "kube/client.h"
#include "scheduler/leadership.h"

namespace sky::scheduler {

// Takes notes for people; drops them when too many wait.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void Note(const cache::ClusterWriter::EventNote& note) = 0;
};

class KubeWriter final : public cache::ClusterWriter {
 public:
  KubeWriter(kube::Client& client, const Leadership& leadership, EventSink& events)
      : client_(client), leadership_(leadership), events_(events) {}

  void CreatePlacement(const api::Placement& placement, cache::Done<api::Placement> done) override;
  void UpdatePlacement(const api::Placement& placement, cache::Done<api::Placement> done) override;
  void GetPlacement(const std::string& ns, const std::string& name,
                    cache::Done<api::Placement> done) override;
  void DeletePlacement(const std::string& ns, const std::string& name, const std::string& uid,
                       cache::Done<cache::Written> done) override;
  void Bind(const cache::BindRequest& request, cache::Done<cache::Written> done) override;
  void Evict(const std::string& ns, const std::string& name, const std::string& uid, bool dry_run,
             cache::Done<cache::Written> done) override;
  void GetPod(const std::string& ns, const std::string& name, cache::Done<api::Pod> done) override;
  void GetPodGroup(const std::string& ns, const std::string& name,
                   cache::Done<api::PodGroup> done) override;
  void PatchQuotaStatus(const std::string& name, const std::string& body,
                        cache::Done<cache::Written> done) override;
  void PatchQueueStatus(const std::string& name, const std::string& body,
                        cache::Done<cache::Written> done) override;
  void ApplyPodGroupConditions(const std::string& ns, const std::string& name,
                               const std::vector<api::Condition>& conditions,
                               cache::Done<cache::Written> done) override;
  void ApplyPodCondition(const api::ObjectMeta& pod, const api::Condition& condition,
                         cache::Done<cache::Written> done) override;
  void PatchClaim(const std::string& ns, const std::string& name, const std::string& body,
                  cache::Done<cache::Written> done) override;
  void PatchVolume(const std::string& name, const std::string& body,
                   cache::Done<cache::Written> done) override;
  void CreateQueue(const api::Queue& queue, cache::Done<cache::Written> done) override;
  void Event(const EventNote& event) override { events_.Note(event); }

 private:
  kube::CallOptions Write(kube::Urgency urgency) const;
  kube::CallOptions Read() const;

  kube::Client& client_;
  const Leadership& leadership_;
  EventSink& events_;
};

}  // namespace sky::scheduler
