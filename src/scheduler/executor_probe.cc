// SPDX-License-Identifier: Apache-2.0
// F12d: a member that was refused is asked about before anything is written for its job again: a
// dry run of its binding goes through the same admission. A gang that a webhook refuses for ever
// costs one question a back-off, and no place is held, and no other member started, in vain.
#include "scheduler/executor_running.h"
#include "scheduler/words.h"

#include "api/keys.h"

namespace sky::scheduler {

using cache::RoundEntry;

cache::BindRequest Executor::Request(const RoundEntry& entry) {
  cache::BindRequest request;
  request.namespace_ = entry.namespace_;
  request.name = entry.name;
  request.uid = entry.uid;
  request.node = entry.node_name;
  if (!entry.direct()) request.annotations[std::string(api::key::kQuotaName)] = entry.quota_name;
  return request;
}

// False: nobody of it was refused.
bool Executor::Probe(const RunningPtr& running) {
  const auto refused = refused_.find(running->round.job);
  if (refused == refused_.end()) return false;
  std::vector<size_t> asked;
  for (size_t i = 0; i < running->round.entries.size(); ++i)
    if (refused->second.contains(running->round.entries[i].uid)) asked.push_back(i);
  if (asked.empty()) refused_.erase(refused);
  running->probes = asked.size();
  for (const size_t index : asked) {
    cache::BindRequest request = Request(running->round.entries[index]);
    request.dry_run = true;
    ++reads_;
    writer_.Bind(request,
                 alive_.Guard([this, running, index](const Result<cache::Written>& answer) {
                   --reads_;
                   Probed(running, index, answer);
                 }));
  }
  return !asked.empty();
}

void Executor::Probed(const RunningPtr& running, size_t index,
                      const Result<cache::Written>& answer) {
  if (!running_.contains(running->round.number)) return;  // refused by another, or given up
  if (!answer) switch (answer.error().code()) {
      case Code::kTooManyRequests:
      case Code::kUnavailable:
      case Code::kUnknownOutcome:
      case Code::kCancelled:
        break;  // nobody said no
      default: {
        const RoundEntry& entry = running->round.entries[index];
        const std::string why = fmt::format("{}: {}", entry.name, Words(answer.error()));
        ++reads_;
        return writer_.GetPod(
            entry.namespace_, entry.name,
            alive_.Guard([this, running, index, why](const Result<api::Pod>& pod) {
              --reads_;
              if (!running_.contains(running->round.number)) return;
              const RoundEntry& wanted = running->round.entries[index];
              // Or the pod itself says no, and the watch tells what became of it.
              const bool itself =
                  pod ? pod->metadata.uid != wanted.uid || !pod->spec.node_name.empty() ||
                            pod->metadata.deleting() || !pod->spec.scheduling_gates.empty()
                      : pod.error().code() == Code::kNotFound;
              if (!itself)
                events_.refused(running->round, &wanted, model::Reason::kBindRefused, why);
              End(running);
              events_.replan();
            }));
      }
    }
  if (--running->probes == 0) WriteRecord(running);
}

}  // namespace sky::scheduler
