// SPDX-License-Identifier: Apache-2.0
// The condition PodScheduled=False on pods of gangs that wait, as kube-scheduler writes it: the
// gang's reason, which member it is about, and where the numbers stand. Without numbers, since a
// thousand pods would be written anew whenever one changes. Written once the reason has stood for a
// second, a few at a time, behind bindings, each on the version of the pod that was seen to wait:
// whoever has been bound meanwhile keeps its True. Lives on the loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cache/writer.h"
#include "framework/engine.h"
#include "kube/loop.h"
#include "model/cluster.h"

namespace sky::scheduler {

class MemberWords {
 public:
  MemberWords(kube::Loop& loop, cache::ClusterWriter& writer, std::function<bool()> may_write,
              std::function<bool()> busy)
      : loop_(loop), writer_(writer), may_write_(std::move(may_write)), busy_(std::move(busy)) {}

  // After each cycle, with the cluster that it ran on.
  void Cycle(const model::Cluster& cluster, const framework::CycleResult& result);
  size_t in_flight() const { return sending_.size(); }

 private:
  struct Word {
    api::ObjectMeta pod;  // namespace, name, uid, resourceVersion
    api::Condition condition;
  };
  struct Gang {
    uint64_t tick = 0;  // of the row for which `due` was made
    std::string reason, who;
    MonoTime since{};  // the reason stands since then; later after a refusal
    std::vector<Word> due;
  };
  void Refused(const model::Cluster& cluster, const model::Job& job,
               const framework::Refusals& why);
  void Look(Duration wait);
  void Send();
  void Send(const std::string& job, Word word);
  void Answered(const std::string& job, Word word, const Result<cache::Written>& answer);

  static constexpr size_t kMostInFlight = 4;
  static constexpr Duration kStands = std::chrono::seconds(1),
                            kBehind = std::chrono::milliseconds(50);

  kube::Loop& loop_;
  cache::ClusterWriter& writer_;
  std::function<bool()> may_write_, busy_;
  kube::Lifeline alive_;
  std::map<std::string, Gang> gangs_;  // by job; those that were refused last
  std::set<std::string> sending_;      // UIDs
  bool looking_ = false;
};

}  // namespace sky::scheduler
