// SPDX-License-Identifier: Apache-2.0
// Faults on request: what the front does wrong on purpose, so that tests can see what clients make
// of it. Each fault says which requests or watch events it is about, from the how many-th on, how
// often, and what happens to them. Thread-safe.
//
//   faults:
//   - match: {verb: create, resource: pods, subresource: binding, nth: 3}
//     action: {dropAnswer: true}
//   - match: {event: true, resource: podgroups}
//     action: {hold: 2s}
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "lab/call.h"
#include "lab/failure.h"

namespace sky::lab {

// What a match can ask of a request or an event.
struct FaultFacts {
  std::string verb;  // as RBAC names it; "" for requests that no resource answers
  std::string group, resource, subresource, ns, name, agent, token;
};
// `name` is taken from the body of a create.
FaultFacts FactsOf(const Resources& resources, const server::Request& request);

struct Fault {
  // Empty texts match everything. verbs may hold "write" and "read"; agent is a prefix.
  std::vector<std::string> verbs;
  std::string group, resource, subresource, ns, name, agent, token_is_not;
  bool event = false;  // about events of watches, not requests
  int64_t nth = 1;     // the first match that it acts on
  int64_t count = 1;   // on how many in a row; 0: all

  // Of requests.
  Duration delay = Duration::zero();         // before it is handled: its timeout runs meanwhile
  Duration delay_answer = Duration::zero();  // after it was stored
  bool drop_request = false, drop_answer = false;  // the connection closes instead
  std::optional<Failure> refuse;
  bool cut = false;              // after storing: nothing is answered any more, watches are cut
  std::optional<int> exit_code;  // after storing: the process ends
  // Of events.
  bool cut_watch = false;        // instead of telling this event
  std::optional<Duration> hold;  // this event and all behind it wait so long; zero: until cleared
  int64_t reverse = 0;           // so many events are told in reverse order

  int64_t seen = 0;  // matches so far
};

class Faults {
 public:
  // Adds the faults of a YAML or JSON text; all or, when one can't be understood, none.
  Status Add(std::string_view text);
  void Add(Fault fault);
  void Clear();
  // {"faults": […with "seen"…], "cut": …}
  Json ToJson() const;

  // The first fault that acts on this request or event, with its action; counts for every match.
  std::optional<Fault> ForRequest(const FaultFacts& facts) { return Take(facts, false); }
  std::optional<Fault> ForEvent(const FaultFacts& facts) { return Take(facts, true); }

  // Since a fault with `cut` has acted.
  bool cut() const;
  void SetCut();

 private:
  std::optional<Fault> Take(const FaultFacts& facts, bool event);
  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  bool cut_ = false;
};

}  // namespace sky::lab
