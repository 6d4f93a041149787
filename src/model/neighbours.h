// SPDX-License-Identifier: Apache-2.0
// How many pods of some kind stand in each domain of a topology: what pod affinity and topology
// spread are decided by. Pods that are planned or claimed count where they will stand. Counts are
// made when they are first asked for and follow the cluster's moves from then on, so that work is
// in proportion to what changed, and a cluster in which no pod has terms pays for reading the
// moves alone. Lives beside the plugins, across sessions; used on the scheduling thread only.
//
//   Crowd: pods that match terms, or hold a term  ─►  by node
//     └─ View: of a topology key, on nodes that count  ─►  by domain
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/cluster.h"
#include "model/pod_terms.h"

namespace sky::model {

// Which nodes' domains and pods count for a spread constraint.
struct CountedNodes {
  std::vector<std::string> keys;                       // labels that a node must have
  std::shared_ptr<const api::Pod> selects, tolerates;  // whose node affinity and taints; null: any
  std::string Text() const;
  bool Admit(const Node& node) const;
};

// Of a constraint of `pod`; `keys` are those of all its constraints of the same kind.
CountedNodes NodesOf(const api::TopologySpreadConstraint& constraint,
                     const std::shared_ptr<const api::Pod>& pod, std::vector<std::string> keys);

class Neighbours {
 public:
  struct Domains {  // of one topology key
    std::string key;
    std::unordered_map<std::string, int32_t> ids;
    std::vector<int32_t> of_node;  // -1: the node has no such label
  };
  struct View {
    const Domains* domains;
    CountedNodes nodes;
    std::vector<int32_t> counted_in;    // the domain in which a node counts; -1: none
    std::vector<int64_t> sums;          // by domain
    std::vector<int32_t> sizes;         // nodes that count, by domain
    std::map<int64_t, int64_t> levels;  // sum → domains with at least one node that counts
    int64_t total = 0, present = 0;     // of all domains; domains with a node that counts
  };
  struct Crowd {
    std::vector<PodTerm> terms;
    std::vector<int64_t> by_node;
    int64_t members = 0;  // pods that count
    uint64_t asked = 0;   // in which session, last
    std::map<std::string, std::unique_ptr<View>> views;
  };

  // Once a session, before the first question: everything handed out before is void.
  void Open(const Cluster& cluster);
  // Before each question; costs nothing when nothing moved.
  void Follow(const Cluster& cluster);

  // Pods that match every one of the terms.
  Crowd& Matching(const Cluster& cluster, const std::vector<PodTerm>& terms);
  // Pods with such a required anti-affinity term, and the weights with which pods attract others
  // (required affinity 1, preferred ones theirs, anti-affinity negative), by the term's text. One
  // view each, by the term's key.
  const std::map<std::string, Crowd>& forbidding() const { return forbidding_; }
  const std::map<std::string, Crowd>& attracting() const { return attracting_; }
  uint64_t kinds() const { return kinds_; }  // moves when either gets one more
  // Of the places of pods that anybody has asked for, or that say something to others: it moves
  // when one of them does, and is what it was when that is undone.
  uint64_t changed() const { return changed_; }

  View& ViewOf(const Cluster& cluster, Crowd& crowd, const std::string& key,
               const CountedNodes& nodes = {});
  // Where a node is for a view's key, whether it counts there or not; -1: it has no such label.
  static int32_t DomainAt(const View& view, NodeId node);
  // Pods of the crowd in a domain, on a node, and in all domains, without `task`: nobody is his own
  // neighbour.
  int64_t Others(const Crowd& crowd, const View& view, TaskId task, int32_t domain) const;
  int64_t OthersOn(const Crowd& crowd, TaskId task, NodeId node) const;
  int64_t OthersInAll(const Crowd& crowd, const View& view, TaskId task) const;
  // The least of any domain that counts; 0 without any.
  int64_t LeastOthers(const Crowd& crowd, const View& view, TaskId task) const;
  // What `task` itself adds to a crowd, and where it stands.
  int64_t Own(const Crowd& crowd, TaskId task, NodeId& node) const;

 private:
  struct Share {
    Crowd* crowd;
    int64_t weight;
    bool operator==(const Share&) const = default;
  };
  struct Record {
    NodeId node;
    std::vector<Share> shares;
    bool operator==(const Record&) const = default;
  };

  void Rebuild(const Cluster& cluster);
  void FollowNodes(const Cluster& cluster);
  void Recount(const Cluster& cluster, TaskId task);
  Record RecordOf(const Cluster& cluster, TaskId task);
  Crowd& Holding(const Cluster& cluster, std::map<std::string, Crowd>& crowds, PodTerm term);
  void Hold(const Cluster& cluster, const api::Pod& pod, std::vector<Share>& shares);
  static void Add(Crowd& crowd, NodeId node, int64_t weight);
  static void Shift(View& view, int32_t domain, int64_t weight);
  static void Enter(View& view, const Crowd& crowd, const Node& node, NodeId id);
  static void Leave(View& view, const Crowd& crowd, NodeId id);
  Domains& DomainsOf(const Cluster& cluster, const std::string& key);
  static int32_t DomainOf(Domains& domains, const Node& node);
  template <class Fn>
  void EachCrowd(Fn fn);

  uint64_t source_ = 0, read_ = 0;  // the moves, and how far they are read
  uint64_t generation_ = 0, session_ = 0, kinds_ = 0, changed_ = Tick();
  std::vector<uint64_t> generations_;  // of nodes, as last seen
  std::map<std::string, Domains> domains_;
  std::map<std::string, Crowd> matching_, forbidding_, attracting_;
  std::unordered_map<size_t, Record> records_;  // of tasks that add to anything
};

}  // namespace sky::model
