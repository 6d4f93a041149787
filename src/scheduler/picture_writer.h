// SPDX-License-Identifier: Apache-2.0
// Writes Quota.status, the picture for people: whatever differs from the ledgers, after the
// bindings, a few at a time, one in flight a quota. Healing (a status that live pods contradict:
// fixQuotaBinding) is held to minFixQuotaInterval. What was refused is tried again after 1 s,
// doubled up to 60 s, with jitter, and at once when there is something else to write; people are
// told when the words of the refusal change. Lives on the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/rng.h"
#include "cache/cache.h"
#include "cache/writer.h"
#include "kube/loop.h"

namespace sky::scheduler {

class PictureWriter {
 public:
  PictureWriter(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer,
                Duration min_fix_interval, std::function<bool()> may_write,
                std::function<bool()> busy);

  // Something may have changed: looks soon, once for many calls.
  void Poke();
  // Writes these quotas' statuses at once; done when all are acknowledged, or with the first
  // refusal.
  void WriteNow(const cache::Round& round, std::function<void(Status)> done);
  bool Idle() const { return in_flight_.empty() && !timer_; }
  size_t in_flight() const { return in_flight_.size(); }
  uint64_t written() const { return written_; }
  uint64_t healed() const { return healed_; }

 private:
  struct Batch;
  // The last word on a quota whose status wasn't taken.
  struct Refusal {
    std::string uid, patch;  // what was refused
    std::string words;
    Duration wait{};     // before the same is tried again
    MonoTime again;      // when that is
    MonoTime asked_for;  // the server wants to be left alone until then, whatever there is to write
  };
  void Look();
  void NoteHealing(const cache::Picture& picture);
  void AgainAt(MonoTime at, const std::string& name);
  bool MustWait(const cache::Picture& picture);
  void Refused(const std::string& name, const std::string& uid, std::string patch,
               const Error& error);
  void Taken(const std::string& name);
  void Write(const cache::Picture& picture, std::function<void(Status)> done);
  void WriteOne(const std::string& name, int tries, std::function<void(Status)> done);
  static std::string Patch(const cache::Picture& picture);

  static constexpr size_t kMaxInFlight = 8;
  static constexpr int kMaxTries = 5;
  static constexpr Duration kDelay = std::chrono::milliseconds(5);

  kube::Loop& loop_;
  cache::Cache& cache_;
  cache::ClusterWriter& writer_;
  const Duration min_fix_interval_;
  std::function<bool()> may_write_, busy_;
  kube::Lifeline alive_;
  std::set<std::string> in_flight_;          // quotas
  std::set<std::string> changed_;            // of those, the ones that changed again meanwhile
  std::map<std::string, Refusal> refusals_;  // by quota
  Rng jitter_{1};
  bool timer_ = false;
  std::optional<MonoTime> last_fix_;
  uint64_t written_ = 0, healed_ = 0;
};

}  // namespace sky::scheduler
