// SPDX-License-Identifier: Apache-2.0
// What a pod's place has to do with the places of others: required affinity and anti-affinity, the
// anti-affinity of pods that are there already, and topology spread. Belongs to predicates; what a
// pod asks is read once a session. Used on the scheduling thread only.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "model/neighbours.h"

namespace sky::plugins {

class OtherPods {
 public:
  // At the opening of a session; both outlive it.
  void Open(const model::Cluster& cluster, model::Neighbours& neighbours);

  model::Verdict Affinity(model::TaskId task, model::NodeId node);
  model::Verdict Spread(model::TaskId task, model::NodeId node);

 private:
  using Crowd = model::Neighbours::Crowd;
  using View = model::Neighbours::View;
  struct Counted {
    const Crowd* crowd;
    const View* view;
  };
  struct Limit {  // of a spread constraint
    Counted pods;
    int64_t max_skew, min_domains, itself;
  };
  struct Demand {
    std::shared_ptr<const model::PodFacts> facts;
    uint64_t kinds;                           // of terms that others hold, when it was read
    std::vector<Counted> near, away, barred;  // with pods there, without, and without their holders
    bool matches_itself = false;
    std::vector<Limit> limits;
  };

  const Demand& DemandOf(model::TaskId task);
  void ReadAffinity(const api::Pod& pod, Demand& demand);
  void ReadSpread(const std::shared_ptr<const api::Pod>& pod, Demand& demand);
  int64_t Others(const Counted& pods, model::TaskId task, int32_t domain) const;
  bool Overfull(const Limit& limit, model::TaskId task, int32_t domain) const;

  const model::Cluster* cluster_ = nullptr;
  model::Neighbours* neighbours_ = nullptr;
  std::unordered_map<size_t, Demand> demands_;  // by task
};

}  // namespace sky::plugins
