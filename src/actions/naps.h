// SPDX-License-Identifier: Apache-2.0
// Jobs that can't run, asleep until what they wait for may have come (rule 3 of fairness): a change
// of their own row or of a queue, more quotas, enough room. A nap is a hint: losing it costs
// time, never truth, and none is longer than 30 s. Whose reasons may have been overtaken is woken
// earlier, as far as that costs little. Lives as long as the action that plans; used on the
// scheduling thread only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "actions/capacity.h"
#include "framework/session.h"

namespace sky::actions {

// What a job that found no place waits for.
struct Want {
  enum class What : uint8_t {
    kItself,    // its own row or a queue must change
    kQuotas,    // so many quotas with something to give
    kRoom,      // so much room for its class, in one cell or in all together
    kAnything,  // more of anything
  };
  What what = What::kAnything;
  int64_t tasks = 0;
  bool one_cell = false;
  Pool pool = {};      // kRoom: of the class
  size_t subject = 0;  // kRoom: in the capacities
  model::Network network = model::Network::kRoce;
  bool zoned = false;
  bool zoned_job = false;  // which zones there are decides where it may go
  bool zone = false;       // it waits for one zone, and would go to several if there was none
  Duration at_most = Duration::max();  // then time alone may have changed the answer
  int64_t steps = 1;                   // that it took to find this out
};

class Naps {
 public:
  static constexpr Duration kLongest = std::chrono::seconds(30);

  // Steps of a cycle for those who are woken for the sake of their reasons alone.
  static constexpr int64_t kSteps = 10'000;

  // Once a cycle, before any question.
  void Begin() { best_.clear(), quotas_.clear(), pools_.clear(); }
  bool Asleep(framework::Session& session, Capacities& capacities, model::JobId job);
  // Of those who sleep: for whom something changed since, so that what was said, a second and 10 ms
  // a waiting member ago or more, may not be true any more. The longest asleep first, for about
  // kSteps; sorted by id.
  std::vector<model::JobId> Overtaken(const framework::Session& session,
                                      std::span<const model::JobId> asleep) const;
  void Sleep(framework::Session& session, model::JobId job, Want want);

 private:
  struct Nap {
    uint64_t job = 0, queues = 0;  // ticks of its row, and of what any queue says
    uint64_t neighbours = 0;       // of pods that terms are about; 0: it has nothing to do with any
    uint64_t volumes = 0;          // of what is offered to claims; 0: it has none
    uint64_t cells = 0;            // when a node last entered or left one; 0: no matter
    uint64_t statics = 0;          // of all nodes, when it waits for a zone; 0: it doesn't
    uint64_t seen = 0;             // the tick up to which growth was looked at
    uint64_t earmarks = 0;         // that had ended
    uint64_t told = 0;             // the tick up to which its reasons are true
    MonoTime since{}, until{};
    Want want;
  };
  bool StillHopeless(const framework::Session& session, Capacities& capacities, model::JobId job,
                     Want& want);
  const Pool& PoolNow(const framework::Session& session, model::QueueId queue, model::TaskId task);
  int64_t QuotasOf(const framework::Session& session, model::QueueId queue);

  std::unordered_map<size_t, Nap> naps_;  // by job
  // Of this cycle: the largest cell's and all cells' room for a class; quotas by queue.
  std::map<std::tuple<size_t, model::Network, bool>, std::pair<int64_t, int64_t>> best_;
  std::unordered_map<size_t, int64_t> quotas_;
  std::map<std::tuple<size_t, model::ClassId, std::string>, Pool> pools_;
};

}  // namespace sky::actions
