// SPDX-License-Identifier: Apache-2.0
// Places that are kept for the first gang that waits, so that a stream of small jobs can't take
// each card that gets free for ever: one earmark for each spec code. Who lacks quotas of its queue
// has these kept alone, one job for each queue: nodes would stand idle in vain. Nobody but its
// owner, who comes before it by priority, and who was given an earmark earlier, takes a node or a
// free quota of it; whoever runs there ends in peace. The keeper (actions) gives and takes them;
// here is what they mean for others. They outlive a session; a PodGroup's condition tells of its
// own, and a later life takes it up from there. Used on the scheduling thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/cluster.h"

namespace sky::framework {

struct Earmark {
  model::JobId job;
  std::string name, uid;                       // of the job, and of its PodGroup or pod
  model::SpecId spec;                          // of the nodes
  model::QueueId queue;                        // of the job, when quotas alone are kept
  std::map<model::NodeId, std::string> nodes;  // with their names
  std::map<model::ClassId, int64_t> quotas;    // so many free ones of a class are kept back
  std::set<model::QuotaId> demanded;           // and these, which its members name
  int64_t missing = 0;                         // tasks that would find no room there now
  MonoTime since{}, freed{};                   // given; when `missing` last became less
  uint64_t turn = 0;                           // in which the jobs were given theirs; 0: by Put
  bool quotas_alone() const { return queue.valid(); }
};

// The condition of its PodGroup, and the message: its nodes in natural order, as many as fit, or
// that it is about quotas alone.
inline constexpr std::string_view kEarmarkCondition = "Earmarked";
std::string EarmarkMessage(const Earmark& mark);
// What such a message of a job of this queue says: the nodes that are there, all of one spec code;
// nullopt: nothing.
std::optional<Earmark> ReadEarmark(const model::Cluster& cluster, std::string_view message,
                                   model::QueueId queue);

// Does `first` come before `second` whatever their shares are: by the priority of their queues,
// where these part below a common parent, else by their own?
bool GoesBefore(const model::Cluster& cluster, model::JobId first, model::JobId second);

class Earmarks {
 public:
  using Key = std::pair<model::SpecId, model::QueueId>;  // one of them valid, or neither

  // Once a cycle: ends those whose gang has begun, is gone, or hasn't the members to begin, and
  // forgets nodes that are gone.
  void Begin(const model::Cluster& cluster);
  bool empty() const { return marks_.empty(); }
  bool Has(model::SpecId spec) const { return marks_.contains({spec, {}}); }
  bool HasQuotas(model::QueueId queue) const { return marks_.contains({{}, queue}); }
  Earmark* Of(model::JobId job);  // null: it has none
  const Earmark* Of(model::JobId job) const;
  // In the place of another of its job, spec code (or queue); named by what the job is.
  void Put(const model::Cluster& cluster, Earmark mark);
  void Drop(model::JobId job);

  // While jobs are planned: what is kept is out of reach. Else what was decided before is judged.
  bool enforced = false;
  // The earmark that keeps the node from the job; null: none does.
  const Earmark* Bars(const model::Cluster& cluster, model::JobId job, model::NodeId node) const;
  bool BarsQuota(const model::Cluster& cluster, model::JobId job, model::QuotaId quota) const;
  // How many free quotas of a class it has to leave.
  int64_t KeptBack(const model::Cluster& cluster, model::JobId job, model::ClassId of) const;
  // Quotas that it has to leave, because others name them.
  std::set<model::QuotaId> DemandedByOthers(model::JobId job) const;
  // For whom places are kept that it can't have, "" when there are none.
  std::string KeptFor(const model::Cluster& cluster, model::JobId job) const;
  const std::map<Key, Earmark>& all() const { return marks_; }
  bool On(model::NodeId node) const { return by_node_.contains(node.index()); }
  // What conditions say, by the job's name, of those that have a PodGroup.
  const std::map<std::string, std::string>& messages() const { return messages_; }
  // Counts ends of earmarks: what was out of reach may not be any more.
  uint64_t ended() const { return ended_; }

 private:
  void Index();
  // Is what the mark keeps out of the job's reach?
  bool Keeps(const model::Cluster& cluster, const Earmark& mark, model::JobId job) const;

  std::map<Key, Earmark> marks_;
  // derived from these
  std::unordered_map<size_t, Key> by_node_;
  std::map<std::string, std::string> messages_;
  uint64_t ended_ = 0, statics_ = 0, turns_ = 0;
};

}  // namespace sky::framework
