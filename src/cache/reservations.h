// SPDX-License-Identifier: Apache-2.0
// Which places are kept for members that a gang has lost, and for whom (F30–F36). Told what pods
// leave behind; judges what is kept by what the rows say by now and what time it is: whoever isn't
// needed any more goes, successors that are seen are pinned to what they inherit. After a restart
// it goes on from what the quotas' statuses say. Guarded by the cache's lock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/cluster.h"

namespace sky::cache {

class Reservations {
 public:
  explicit Reservations(Duration ttl) : ttl_(ttl) {}

  // What a member has, before its pod changes or goes.
  struct Holding {
    model::QuotaId quota;
    model::NodeId node;
    std::string job, job_uid;
    Duration ttl{};
    std::shared_ptr<const model::PodFacts> facts;
  };
  std::optional<Holding> HeldBy(model::Cluster& cluster, std::string_view uid) const;
  // Its pod is asked to leave and still holds the room.
  void Leaving(model::Cluster& cluster, const Holding& holding, WallTime grace_ends);
  // It holds nothing any more. `failed`: its last word, if it has one.
  void Lost(model::Cluster& cluster, const Holding& holding, const api::Pod* failed, WallTime now);
  // Rows changed: what is kept may be other than what should be.
  void Note() { dirty_ = true; }
  bool Due(WallTime now) const { return now >= next_; }
  void Judge(model::Cluster& cluster, WallTime now);
  // Forgets what it knows, and takes over what the statuses say: those that they keep, and members
  // of which they tell and that are gone.
  void Adopt(model::Cluster& cluster, WallTime now);
  // When something ends by itself; WallTime::max(): never.
  WallTime next() const { return next_; }

 private:
  struct Kept {
    std::vector<model::Reservation> all;
    model::NodeId node;
  };
  using Desk = std::map<model::QuotaId, Kept>;
  using OfJob = std::vector<std::pair<model::QuotaId, size_t>>;  // places on the desk

  struct Avoided {
    WallTime at_least;
    bool seen = false;
    model::Resources allocatable;
    std::vector<model::TaskId> tasks;
  };

  Duration TtlOf(const model::Job& job) const { return job.notes.reservation_ttl.value_or(ttl_); }
  void EndPlace(const model::Cluster& cluster, Kept& kept, WallTime now) const;
  void DropEnded(const model::Cluster& cluster, model::QuotaId quota, Kept& kept) const;
  static void DropExpired(Desk& desk, WallTime now);
  static void DropSurplus(const model::Cluster& cluster, Desk& desk);
  void FindHeirs(const model::Cluster& cluster, Desk& desk, WallTime now) const;
  bool StillAvoided(const model::Cluster& cluster, model::NodeId id, Avoided& avoided,
                    WallTime now);
  void JudgeAvoided(model::Cluster& cluster, WallTime now);

  const Duration ttl_;
  std::set<model::QuotaId> known_;                                     // that keep something
  std::map<std::pair<std::string, model::ClassId>, Avoided> avoided_;  // by node and class
  WallTime next_ = WallTime::max();
  bool dirty_ = false;
};

}  // namespace sky::cache
