// SPDX-License-Identifier: Apache-2.0
// The election's answers in the words of the writers; always leading while no election is used
// (--no-leader-elect). As thread-safe as the election; outlives whoever asks.
#pragma once

#include "kube/election.h"
#include "scheduler/leadership.h"

namespace sky::scheduler {

class Elected final : public Leadership {
 public:
  explicit Elected(const Clock& clock) : clock_(clock) {}
  void Use(const kube::Election* election) { election_ = election; }
  bool leading() const override {
    return election_ == nullptr || election_->IsLeader(clock_.Mono());
  }
  std::optional<Duration> WriteTimeout() const override {
    return election_ == nullptr ? Duration(std::chrono::seconds(4))
                                : election_->WriteTimeout(clock_.Mono());
  }
  int64_t epoch() const override {
    return election_ == nullptr ? 0 : election_->Epoch().value_or(-1);
  }

 private:
  const Clock& clock_;
  const kube::Election* election_ = nullptr;
};

}  // namespace sky::scheduler
