// SPDX-License-Identifier: Apache-2.0
// What /diagnose answers from: of each job the facts of the last cycle, renewed after each cycle
// for those jobs alone whose rows changed, and why it was refused last, which holds while it
// sleeps. Lives on the loop, as the requests do: no cycle waits for an answer and no answer for a
// cycle. Forgotten with the leadership.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "diagnose/job_report.h"
#include "framework/engine.h"
#include "scheduler/reporter.h"

namespace sky::scheduler {

class Diagnoses {
 public:
  Diagnoses(const model::Names& names, const Reporter& reporter)
      : names_(names), reporter_(reporter) {}

  // After each cycle and the reporter. `renewed`: the rows that differ from the last cycle's;
  // absent: all may.
  void Cycle(const model::Cluster& cluster, const framework::CycleResult& result, uint64_t cycle,
             const std::optional<std::vector<model::JobId>>& renewed);
  void Forget();

  // JSON. kInvalid: no such name can be; kNotFound: no job has it; kUnavailable: nothing is known
  // yet.
  Result<std::string> Answer(const std::string& ns, const std::string& name) const;
  size_t size() const { return jobs_.size(); }

 private:
  struct Entry {
    model::JobId id;
    std::shared_ptr<const diagnose::JobFacts> facts;
    std::shared_ptr<const framework::Refusals> why;
  };
  void Renew(const model::Cluster& cluster, model::JobId id);

  const model::Names& names_;
  const Reporter& reporter_;
  std::unordered_map<std::string, Entry> jobs_;  // by key
  std::vector<std::string> keys_;                // by id, of the jobs that are here
  uint64_t cycle_ = 0;
  bool complete_ = false;  // every job is here
};

}  // namespace sky::scheduler
