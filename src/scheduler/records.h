// SPDX-License-Identifier: Apache-2.0
// The Placement of each group: what its rounds have decided and not carried out yet. One write at a
// time for each group, so that no two words of ours overwrite each other; whoever asks meanwhile is
// served together by the next write. An answer that didn't come is read back, never guessed: a
// record is refused only by a definite refusal. Lives on the loop.
//
//   Write ─► waiting ─► Put ─ack─► done(ok) ─► Put again, if somebody waits
//                        │ 409, lost answer: Read ─► ours after all: ok; else Put on top of it
//                        │ 429, no connection: Put later     └─ can't be read: Read later
//                        └ 403, 422 …: done(error)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "cache/cache.h"
#include "cache/writer.h"
#include "kube/loop.h"

namespace sky::scheduler {

class Records {
 public:
  struct Hooks {
    std::function<bool()> may_write;
    std::function<int64_t()> epoch;  // of our leadership
    // What the record of this life of the group must hold now, in order.
    std::function<std::vector<const cache::RoundEntry*>(const std::string& key,
                                                        const std::string& uid)>
        open;
    // The server doesn't take the record of a decision now: it is written again later.
    std::function<void(const std::string& key, const std::string& why)> delayed;
  };
  // kCancelled: we don't lead any more, nothing was refused. kNotFound: the group is gone.
  using Done = std::function<void(Status)>;

  Records(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer, Hooks hooks)
      : loop_(loop), cache_(cache), writer_(writer), hooks_(std::move(hooks)) {}

  // Makes the record of the round's group say what is open now. `decides`: it adds a round; else it
  // takes something out, which doesn't share the fate of a round that is refused.
  void Write(const cache::Round& round, bool decides, Done done);
  // Did this process write, or is it writing, what the watch shows here?
  bool Knows(const api::Placement& placement) const;
  // The watch says that it is gone.
  void Gone(const api::Placement& placement);
  // Leadership is lost: what others write from now on is read anew.
  void Forget();
  size_t calls() const { return calls_; }  // under way
  bool Idle() const;                       // nothing is under way or to be tried again

 private:
  struct Request {
    std::string uid;  // of the group
    bool decides;
    Done done;
  };
  struct Group {
    std::string namespace_, name;
    std::vector<Request> waiting, sent;  // `sent` by the write under way
    // What we read or wrote last, newer than the watch. Null: nothing is there, when `certain`.
    std::shared_ptr<const api::Placement> known;
    bool certain = false, busy = false;
    api::Placement wanted;
    int conflicts = 0;
    std::optional<Error> unknown;  // the last answer, when nobody could say what it means
    Duration wait{};
  };
  using Step = void (Records::*)(const std::string& key);

  void Send(const std::string& key);
  void Put(const std::string& key);
  api::Placement Compose(const std::string& key, const Group& group) const;
  void Remove(const std::string& key, const std::string& uid);
  void Read(const std::string& key);
  void Answered(const std::string& key, Result<api::Placement> answer);
  void ReadAnswered(const std::string& key, Result<api::Placement> there);
  void Later(const std::string& key, const Error& error, Step step);
  void Finish(const std::string& key, const Status& status);
  template <class Fn>
  auto Tracked(Fn fn);

  static constexpr int kMostConflicts = 8;

  kube::Loop& loop_;
  cache::Cache& cache_;
  cache::ClusterWriter& writer_;
  const Hooks hooks_;
  std::map<std::string, Group> groups_;
  Rng jitter_{3};
  size_t calls_ = 0;
  kube::Lifeline alive_;
};

}  // namespace sky::scheduler
