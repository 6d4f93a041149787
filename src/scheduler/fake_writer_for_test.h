// SPDX-License-Identifier: Apache-2.0
// A ClusterWriter that keeps what it is asked until the test answers. Each kind of call is a list
// of open calls, oldest first.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "cache/writer.h"

namespace sky::scheduler {

class FakeWriter final : public cache::ClusterWriter {
 public:
  template <class Asked, class T>
  struct Call {
    Asked asked;
    cache::Done<T> done;
  };
  template <class Asked, class T>
  using Calls = std::deque<Call<Asked, T>>;

  Calls<api::Placement, api::Placement> creates, updates;
  Calls<std::string, api::Placement> placement_reads;
  Calls<std::string, cache::Written> placement_deletes;
  Calls<cache::BindRequest, cache::Written> binds;
  Calls<std::string, cache::Written> evictions;  // "ns/name uid"
  Calls<std::string, api::Pod> pod_reads;
  Calls<std::string, api::PodGroup> group_reads;
  Calls<std::pair<std::string, std::string>, cache::Written> quota_patches, queue_patches;
  Calls<std::pair<std::string, api::Condition>, cache::Written> conditions;
  std::vector<api::Condition> all_conditions;  // of the last write on a group
  std::vector<std::string> pod_versions;       // on which pods' conditions were written
  Calls<std::pair<std::string, std::string>, cache::Written> claim_patches, volume_patches;
  Calls<api::Queue, cache::Written> queues;
  std::vector<EventNote> events;

  // Takes the oldest call out and answers it.
  template <class Asked, class T>
  static Asked Answer(Calls<Asked, T>& calls, Result<T> answer) {
    Call<Asked, T> call = std::move(calls.front());
    calls.pop_front();
    call.done(std::move(answer));
    return std::move(call.asked);
  }
  template <class Asked, class T>
  static Asked Refuse(Calls<Asked, T>& calls, Code code) {
    return Answer(calls, Result<T>(std::unexpected(Error(code, "no"))));
  }

  void CreatePlacement(const api::Placement& placement, cache::Done<api::Placement> done) override {
    creates.push_back({placement, std::move(done)});
  }
  void UpdatePlacement(const api::Placement& placement, cache::Done<api::Placement> done) override {
    updates.push_back({placement, std::move(done)});
  }
  void GetPlacement(const std::string& ns, const std::string& name,
                    cache::Done<api::Placement> done) override {
    placement_reads.push_back({ns + "/" + name, std::move(done)});
  }
  void DeletePlacement(const std::string&, const std::string&, const std::string& uid,
                       cache::Done<cache::Written> done) override {
    placement_deletes.push_back({uid, std::move(done)});
  }
  void Bind(const cache::BindRequest& request, cache::Done<cache::Written> done) override {
    binds.push_back({request, std::move(done)});
  }
  void Evict(const std::string& ns, const std::string& name, const std::string& uid, bool dry_run,
             cache::Done<cache::Written> done) override {
    evictions.push_back({ns + "/" + name + " " + uid + (dry_run ? " dry" : ""), std::move(done)});
  }
  void GetPod(const std::string& ns, const std::string& name, cache::Done<api::Pod> done) override {
    pod_reads.push_back({ns + "/" + name, std::move(done)});
  }
  void GetPodGroup(const std::string& ns, const std::string& name,
                   cache::Done<api::PodGroup> done) override {
    group_reads.push_back({ns + "/" + name, std::move(done)});
  }
  void PatchQuotaStatus(const std::string& name, const std::string& body,
                        cache::Done<cache::Written> done) override {
    quota_patches.push_back({{name, body}, std::move(done)});
  }
  void PatchQueueStatus(const std::string& name, const std::string& body,
                        cache::Done<cache::Written> done) override {
    queue_patches.push_back({{name, body}, std::move(done)});
  }
  void ApplyPodGroupConditions(const std::string& ns, const std::string& name,
                               const std::vector<api::Condition>& all,
                               cache::Done<cache::Written> done) override {
    all_conditions = all;
    conditions.push_back({{ns + "/" + name, all.front()}, std::move(done)});
  }
  void ApplyPodCondition(const api::ObjectMeta& pod, const api::Condition& condition,
                         cache::Done<cache::Written> done) override {
    conditions.push_back({{"pod " + pod.Key(), condition}, std::move(done)});
    pod_versions.push_back(pod.resource_version);
  }
  void PatchClaim(const std::string& ns, const std::string& name, const std::string& body,
                  cache::Done<cache::Written> done) override {
    claim_patches.push_back({{ns + "/" + name, body}, std::move(done)});
  }
  void PatchVolume(const std::string& name, const std::string& body,
                   cache::Done<cache::Written> done) override {
    volume_patches.push_back({{name, body}, std::move(done)});
  }
  void CreateQueue(const api::Queue& queue, cache::Done<cache::Written> done) override {
    queues.push_back({queue, std::move(done)});
  }
  void Event(const EventNote& event) override { events.push_back(event); }
};

}  // namespace sky::scheduler
