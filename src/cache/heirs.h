// SPDX-License-Identifier: Apache-2.0
// Who takes over a place that is kept for a lost member, how many of them a gang still needs, and
// what a status of an earlier life says of them. Pure; used by Reservations.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "model/cluster.h"

namespace sky::cache {

// Does its successor still wait for it, or use it?
bool IsHeir(const model::Cluster& cluster, const model::Reservation& place, model::JobId job);

// Successors among the job's members without a place for these, which have none: whoever names the
// predecessor, else who has its role and rank, else (where one has no rank) the oldest with its
// role and request for the oldest place.
using Places = std::vector<std::pair<model::QuotaId, model::Reservation*>>;
std::vector<std::pair<model::Reservation*, model::TaskId>> MatchHeirs(const model::Cluster& cluster,
                                                                      model::JobId job,
                                                                      const Places& places);

// Does following what pods name in inherit-resource-from come round to one that was there? A place
// that nobody lost is nobody's to hand on, so such pods inherit nothing.
bool InheritsInCircle(const model::Cluster& cluster, model::TaskId task);

// How many members a gang lacks: of roles with a minimum, and of any.
class Shortage {
 public:
  Shortage(const model::Cluster& cluster, const model::Job& job);
  // Is one of this role needed? Then it is one less.
  bool Take(std::string_view role);

 private:
  std::map<std::string_view, int64_t> of_role_;
  int64_t of_any_ = 0;
};

// What a quota's status says is kept; of members that it shows and that are gone: from now on.
std::vector<model::Reservation> AdoptedFrom(const model::Cluster& cluster,
                                            const api::QuotaStatus& status, WallTime now,
                                            Duration ttl);

}  // namespace sky::cache
