// SPDX-License-Identifier: Apache-2.0
// One cycle's view and workbench: the lent snapshot, the time, the configuration, the plugins'
// callbacks, and what was decided so far. A cycle is a pure function of (snapshot, config, now).
// Used on the scheduling thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cache/round.h"
#include "framework/config.h"
#include "framework/earmarks.h"
#include "framework/hop.h"
#include "framework/job_stages.h"
#include "framework/plan.h"
#include "framework/statement.h"
#include "framework/topology_policy.h"
#include "model/cluster.h"
#include "model/neighbours.h"

namespace sky::framework {

class Plugin;

// One job's round in this cycle: the statement spans hop 1, hop 2 and the gate.
struct JobRound {
  JobRound(Session& session, model::JobId round_job) : job(round_job), statement(session) {}
  model::JobId job;
  TopologyPolicy policy;
  Plan plan;
  Statement statement;
  size_t order = 0;       // of planning: hop 2 goes by it
  bool extras = false;    // beyond the minimum: each stands for itself
  bool on_nodes = false;  // hop 2 is done
};

// Told about each operation, on Do and on Undo, after the cluster was changed.
struct EventHandler {
  std::string plugin;
  std::function<void(const Operation&)> allocate, deallocate;
};

class Session : public JobStages {
 public:
  // Commits a round: Assume in the cache. Gives the refusal's words when the gang was refused.
  using Committer = std::function<std::expected<uint64_t, cache::Refusal>(cache::Round&)>;

  // What lives longer than a session: the plugins' kept answers and compiled expressions.
  struct Kept {
    StaticAnswers quota_answers, task_answers;
    model::Neighbours neighbours;
    Earmarks earmarks;
    std::map<std::string, std::pair<std::vector<std::string>, expr::Program>> programs;
  };

  Session(model::Cluster& cluster, const Config& config, Instant now, uint64_t cycle,
          Committer committer, Kept& kept);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const model::Cluster& cluster() const { return cluster_; }
  const Config& config() const { return config_; }
  Instant now() const { return now_; }
  uint64_t cycle() const { return cycle_; }
  model::Neighbours& neighbours();  // opened for this session by the first who asks
  Earmarks& earmarks() const { return kept_.earmarks; }

  // --- registration (plugins, in OnSessionOpen) ---
  TaskToQuota task_to_quota{"taskToQuota"};  // TQFns
  QuotaToNode quota_to_node{"quotaToNode"};  // QNFns
  TaskToNode task_to_node{"taskToNode"};     // TNFns
  std::vector<EventHandler> handlers;
  // PredicateZone: a job's candidates, by the topology plugin; without it that is every node.
  std::function<TopologyPolicy(model::JobId)> predicate_zone;
  // Which spot pods would have to leave a node before a task that misses so much there can start,
  // when `leaving` (on other nodes) go too; by the sylas plugin: absent when none may.
  using Victims = std::vector<model::TaskId>;
  std::function<std::optional<Victims>(model::TaskId, model::NodeId, const model::Resources&,
                                       const Victims& leaving)>
      predict_evicted;
  std::optional<Victims> PredictEvicted(model::TaskId task, model::NodeId node,
                                        const model::Resources& missing,
                                        const Victims& leaving = {}) const {
    return predict_evicted ? predict_evicted(task, node, missing, leaving) : std::nullopt;
  }
  // Adds nodes where a job goes only if no others take it; by the rescheduling plugin.
  std::function<void(model::JobId, std::set<model::NodeId>&)> keep_for_last;
  // Somebody chooses who leaves, and somebody asks them to: else no decision counts on their room.
  bool Evicts() const;
  void CompileExpressions();  // after the last registration
  // Waiting jobs that are `wanted`, best first, as long as nothing is planned; see JobsInOrder.
  std::vector<model::JobId> OrderedJobs(const std::function<bool(model::JobId)>& wanted) const;
  TopologyPolicy PredicateZone(model::JobId job) const;
  std::set<model::NodeId> LastNodes(model::JobId job) const;  // with those where it waited in vain

  // --- the cycle's work ---
  std::map<model::JobId, std::unique_ptr<JobRound>>
      rounds;                    // made by allocateJob, ended by Commit or dropped
  bool Commit(JobRound& round);  // assumes its entries; true: claims open, operations kept
  const std::vector<cache::Round>& committed() const { return committed_; }  // in that order
  // The bind action lets a round's bindings go. Rounds of earlier cycles count too.
  void Approve(uint64_t round) { approved_.push_back(round); }
  const std::vector<uint64_t>& approved() const { return approved_; }
  std::vector<cache::GivenUp> given_up;    // by the bind action: places that don't hold any more
  std::vector<cache::Eviction> evictions;  // by reclaim, and by rescheduling
  std::vector<model::JobId> asleep;        // nobody looks at them before something changes; sorted
  std::map<model::JobId, bool> admitted;   // what JobEnqueueable said of whom it was asked
  std::vector<std::string> unread;         // groups to be read again: their jobs would be planned
  bool conflicted() const { return conflicted_; }  // a gang was refused: another cycle at once (F6)
  bool unfinished() const { return unfinished_; }  // not every job was reached: go on at once
  void SetUnfinished(bool unfinished) { unfinished_ = unfinished; }

  // Why a job waits, for conditions and diagnosis; the last word of a cycle counts.
  void Refuse(model::JobId job, Refusals why) { refusals_.insert_or_assign(job, std::move(why)); }
  void Clear(model::JobId job) { refusals_.erase(job); }
  const std::map<model::JobId, Refusals>& refusals() const { return refusals_; }

 private:
  friend class Statement;
  cache::Round MakeRound(const JobRound& round) const;

  model::Cluster& cluster_;
  const Config& config_;
  const Instant now_;
  const uint64_t cycle_;
  Committer committer_;
  Kept& kept_;
  std::vector<cache::Round> committed_;
  std::vector<uint64_t> approved_;
  bool conflicted_ = false, unfinished_ = false, neighbours_open_ = false;
  std::map<model::JobId, Refusals> refusals_;
};

}  // namespace sky::framework
