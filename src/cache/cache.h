// SPDX-License-Identifier: Apache-2.0
// The scheduler's memory of the cluster: watch deltas in, snapshots out, and where a gang's
// decision is checked against what has changed meanwhile (Assume). Thread-safe, one lock: the I/O
// thread applies deltas, the scheduling thread takes snapshots. All can be rebuilt from the API.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/delta.h"
#include "cache/complaints.h"
#include "cache/picture.h"
#include "cache/reservations.h"
#include "cache/round.h"
#include "cache/spot_pods.h"
#include "cache/volume_work.h"
#include "cache/wirings.h"
#include "model/cluster.h"

namespace sky::cache {

class Cache {
 public:
  Cache(std::shared_ptr<model::Names> names, model::Settings settings);

  // --- the door in ---
  template <class T>
  using Delta = api::Delta<T>;
  Effect Apply(const Delta<api::Pod>& delta), Apply(const Delta<api::PodDisruptionBudget>& delta);
  Effect Apply(const Delta<api::Node>& delta), Apply(const Delta<api::NodeTopology>& delta);
  Effect Apply(const Delta<api::PodGroup>& delta), Apply(const Delta<api::Placement>& delta);
  Effect Apply(const Delta<api::Queue>& delta), Apply(const Delta<api::PriorityClass>& delta);
  Effect Apply(const Delta<api::JobQueue>& delta), Apply(const Delta<api::Quota>& delta);
  Effect Apply(const model::VolumeChange& change);
  void SetNow(Instant now);  // before Apply: what to stamp changes with
  Effect MarkLostNodes(Duration lost_after, Duration static_grace);
  std::optional<MonoTime> NextLoss(Duration lost_after, Duration static_grace) const;
  WallTime NextReservation() const;  // when what is kept for a lost member ends; max(): never
  void RefuseOverbound();  // nodes bound beyond what they have give static quotas back (F20)

  // Snapshots: up to date, and without what a session left in it. Says which jobs' rows are new;
  // absent: all.
  std::optional<std::vector<model::JobId>> UpdateSnapshot(model::Cluster& snapshot);

  // --- commit ---
  // Compare and apply of the whole gang, no I/O (F6). `seen` is the session's cluster. Gives the
  // round its number and opens its claims (Writing).
  std::expected<uint64_t, Refusal> Assume(Round& round, const model::Cluster& seen);
  std::vector<StaleGroup> TakeStaleGroups(const std::vector<std::string>& also = {});  // F6
  Effect ConfirmGroup(const StaleGroup& read, std::shared_ptr<const api::PodGroup> group);
  void ReadFailed(const StaleGroup& read);  // to be asked again

  // --- claims: what the executor reports ---
  void Acknowledge(uint64_t round);  // Writing → Claimed
  // The bind action let it go by what it saw. False: that has changed since, nothing is approved.
  bool Approve(uint64_t round, const model::Cluster& seen);
  // Takes approval back from entries that aren't on their way now: to be judged again.
  void Withdraw(const Round& round, const std::vector<std::string>& uids);
  void MarkSending(uint64_t round, const std::string& uid);  // a binding is open
  void Drop(uint64_t round, const std::string& uid);         // on proof only (F10)
  void DropRound(uint64_t round);  // refused, or voided: every entry not sending
  // Before the first binding: do all open entries still hold, and is the gang still whole?
  Send MayStart(const Round& round);
  // Before each binding: is all that its approval read as it was, and is there room?
  Send MayBind(const Round& round, const RoundEntry& entry);
  std::vector<std::string> NotFree(const Round& round);  // nodes without room for its claims now
  VolumeWork VolumesOf(const Round& round);              // to do before its pods can be bound
  std::vector<VolumeWrite> StrayChoices() const;         // nodes said for decisions that have ended
  bool ClaimOpen(uint64_t round, const std::string& uid) const;
  void NoteStays(const std::string& uid);  // a spot pod whose eviction was refused
  // A binding that was acknowledged before the watch tells: the pod counts as bound from now on.
  void NoteBound(const std::string& uid, const std::string& node, const std::string& quota);

  // --- recovery: claims of a Placement that this process didn't write ---
  std::shared_ptr<const api::Placement> FindPlacement(const std::string& key) const;
  std::vector<std::shared_ptr<const api::Placement>> Placements() const;  // by creation, then key
  // Does each entry still speak of a live, unbound pod, and of a quota and node that exist?
  Adoption CheckPlacement(const api::Placement& placement);
  Effect Adopt(Round& round);  // opens claims (Claimed); entries without room leave the round
  void AdoptReservations();    // before that: what the statuses say is kept

  // Pictures: quotas whose status isn't the truth, each once, until it changes or PictureAgain.
  std::vector<Picture> TakeStalePictures(size_t max);
  std::vector<QueuePicture> TakeStaleQueues();  // the same for queues, all of them
  void PictureAgain(const std::string& quota_name), QueueAgain(const std::string& queue_name);
  std::optional<Picture> PictureOf(const std::string& quota_name);
  std::vector<Standing> TakeStandings();  // of groups with changes since the last call
  std::optional<Standing> StandingOf(std::string_view group);

  // Its last round failed: it isn't planned until this is kNone again. False: it is gone.
  bool SetBackoff(std::string_view job, model::Reason reason, std::string why,
                  std::vector<std::string> last_nodes = {});
  std::vector<Complaint> TakeComplaints();  // what is wrong with objects, each once
  // It doesn't decode and is left out; "": it is good again, or gone.
  void NoteUnreadable(const api::ObjectReference& object, const std::string& why);
  bool HasQueue(std::string_view name) const, Runs(std::string_view job);  // is a member bound?
  std::string GroupUid(std::string_view key) const, Audit() const;         // "": no group, no error
  model::Cluster Copy() const;  // of everything, for diagnosis and tests

 private:
  struct GroupNews {
    uint64_t member = 0, group = 0;  // when the last member came, and the group's last word
  };
  void ForgetGone(const std::string& job), NoteUsable(const std::string& node);
  bool Rewire(const std::string& node, std::string* problem, bool at_once);
  bool SetZones(const Wirings::Nodes& nodes), RefuseOneOn(model::NodeId node);
  std::vector<api::Condition> ConditionsOf(const model::Quota& quota) const;
  // The first settles; to settle is to flush, and to note stale pictures.
  void JudgeReservations(), Settle(), NoteQueues(const model::Touched& touched);
  void CheckAdopted(const api::PlacementSpec& spec, const api::PlacementEntry& entry,
                    model::JobId job, Adoption& adoption) const;
  using CommittedBefore = std::map<model::NodeId, model::Resources>;  // before its claims
  CommittedBefore CommittedOn(const Round& round) const;
  std::string CheckRoom(const Round& round, const CommittedBefore& before) const;
  Send Holds(const Round& round, const RoundEntry& entry) const;
  bool VolumesHold(model::TaskId id) const, PictureStale(model::QuotaId id) const;
  Picture Paint(model::QuotaId id) const;
  std::optional<Standing> StandingOf(model::JobId id) const;
  void OpenClaims(const Round& round, model::Claim::Phase phase), CloseClaims(const Round& round);

  const std::shared_ptr<model::Names> names_;
  const model::Settings settings_;
  mutable std::mutex mutex_;
  model::Cluster cluster_;
  model::Touched changed_;  // since the last snapshot
  MonoTime now_{};
  WallTime wall_{};
  SpotPods spot_pods_;
  Reservations reservations_;
  uint64_t next_round_ = 1, sequence_ = 0, snapshots_ = 0;
  std::map<uint64_t, std::map<std::string, Approval>> rounds_;  // open rounds → UIDs still open
  std::map<std::string, GroupNews> news_;
  std::map<std::string, std::shared_ptr<const api::NodeTopology>, std::less<>> topologies_;
  std::map<std::string, std::shared_ptr<const api::Placement>, std::less<>> placements_;
  std::map<std::string, MonoTime> unready_since_, unusable_since_;
  Wirings wirings_;
  std::set<model::NodeId> filled_;  // with static quotas, changed since RefuseOverbound
  std::set<std::string> stale_groups_;
  std::set<model::QuotaId> picture_candidates_;
  std::set<model::QueueId> queue_candidates_;
  std::set<model::JobId> changed_groups_;
  Complaints complaints_;
};

}  // namespace sky::cache
