// SPDX-License-Identifier: Apache-2.0
// What is wrong with objects whether or not a job waits for it: malformed notes, objects that break
// a rule, a quota whose queue or node is missing or whose pods sit on several nodes, a bound pod
// whose record names no quota of its own. Each is told once, until it changes; the scheduler makes
// events of them. Guarded by the cache's lock; lives as long as it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/core.h"
#include "model/cluster.h"

namespace sky::cache {

struct Complaint {
  api::ObjectReference about;
  std::string reason, message;
};

class Complaints {
 public:
  // Rows that may have something new to say.
  void Note(const model::Cluster& cluster, const model::Touched& touched);
  // Of objects that have no row: NodeTopologies, and what can't be read at all. "": nothing is
  // wrong.
  void NoteOf(const api::ObjectReference& object, const std::string& problem);
  // What is new since the last call.
  std::vector<Complaint> Take(const model::Cluster& cluster);

 private:
  template <class Id>
  struct Kept {
    std::set<Id> candidates;
    std::map<Id, std::string> told;  // uid and message
  };
  template <class Id, class Examine>
  static void TakeFrom(Kept<Id>& kept, std::vector<Complaint>& out, Examine examine);

  void NoteComings(const model::Cluster& cluster, const model::Touched& touched);

  Kept<model::TaskId> tasks_;
  Kept<model::JobId> jobs_;
  Kept<model::QueueId> queues_;
  Kept<model::QuotaId> quotas_;
  Kept<model::NodeId> nodes_;
  Kept<model::JobQueueId> job_queues_;
  std::map<std::string, std::string> rowless_;  // kind and name → what was said of it
  std::vector<Complaint> fresh_;
  // Rows that are named but not there: those that name them are looked at when this changes.
  std::set<model::QueueId> missing_queues_;
  std::set<model::NodeId> missing_nodes_;
  std::map<model::QueueId, std::string> parents_;  // of queues that have one, as last seen
};

}  // namespace sky::cache
