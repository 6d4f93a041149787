// SPDX-License-Identifier: Apache-2.0
// Queue and JobQueue, and what each queue's jobs use: own, and with all that stands below it. Uses
// are kept at once, between the operations of a statement too, because limits, shares and slots are
// judged by them; they are sums of whole numbers, so that taking back restores bit for bit.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/crds.h"
#include "model/resources.h"
#include "model/types.h"

namespace sky::model {

class Cluster;

struct Queue {
  std::string name;
  bool live = false;
  std::shared_ptr<const api::Queue> object;
  QueueId parent;                  // invalid: none
  std::vector<QuotaId> quotas;     // that its jobs may use, by id
  std::map<ClassId, int> classes;  // of those, with how many there are of each
  Resources capability;
  std::vector<ResourceId> capped;  // the names that its capability limits, sorted
  int refs = 0;                    // jobs, quotas, queues and JobQueues that name it
  std::string invalid;
  bool exists() const { return object != nullptr; }
  // Its spot pods give way to tasks of other queues too.
  bool reclaimable() const { return !object || object->spec.reclaimable.value_or(true); }
};

struct JobQueue {
  std::string name;  // "ns/name"
  bool live = false;
  std::shared_ptr<const api::JobQueue> object;
  QueueId queue;        // that it feeds
  std::string invalid;  // one that breaks a rule selects nobody
  int32_t running = 0;  // its jobs of which a member holds a place or a claim
  bool strict() const { return object->spec.policy == "StrictFIFO"; }
};

struct QueueUse {
  Resources own;    // Σ requests of the tasks of its jobs that hold a place or a claim
  Resources below;  // the same, with all queues below it
};

// Sums that never saturate, whatever requests and nodes say: of an amount at most 64 TiB counts.
class Uses {
 public:
  static Resources Countable(const Resources& amounts);

  const QueueUse& Of(QueueId queue) const;
  const Resources& offered() const { return offered_; }  // Σ allocatable of all nodes

  // By the first queue of the chain, and below all of it.
  void Add(const std::vector<QueueId>& chain, const Resources& countable);
  void Take(const std::vector<QueueId>& chain, const Resources& countable);
  void Offer(const Resources& before, const Resources& after);
  void Clear();
  std::vector<QueueId> TakeTouched();
  void CopyFrom(const Uses& other, const std::vector<QueueId>& changed);

 private:
  QueueUse& Mutable(QueueId id);

  std::vector<QueueUse> rows_;  // by queue
  std::vector<QueueId> touched_;
  Resources offered_;
};

// The queue and what stands above it; ends before a queue that it has met.
std::vector<QueueId> QueueChain(const Cluster& cluster, QueueId queue);
// What is wrong with the queue's object or with the chain of its parents; "" when nothing is.
std::string QueueTrouble(const Cluster& cluster, QueueId queue);

// Which of the namespace's JobQueues a group stands in: of those that feed its queue and select it
// the one with the highest priority, then the first by name; invalid: none.
JobQueueId LineOf(const Cluster& cluster, const api::PodGroup& group);

}  // namespace sky::model
