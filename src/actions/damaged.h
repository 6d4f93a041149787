// SPDX-License-Identifier: Apache-2.0
// Gangs that run, have lost members, and find no place for them. That may pass; once it has lasted
// for a reservation's time, their owners should know what waiting alone won't mend (F39, F47).
// Lives as long as the action that plans; losing it in a restart only makes them wait once more.
#pragma once

#include <map>
#include <string>

#include "actions/naps.h"
#include "framework/session.h"

namespace sky::actions {

class Damaged {
 public:
  // Once a cycle, before any other call: who is whole again, or gone, is forgotten.
  void Begin(const framework::Session& session);
  // No plan for this round, for the reasons in `why`. When it has lasted long enough, its detail
  // says so; until then `want` is to be asked again at that moment.
  void Failed(const framework::Session& session, const framework::JobRound& round,
              framework::Refusals& why, Want& want);

 private:
  struct Trouble {
    MonoTime since{};
    bool order = false;  // there is room, but not in the order of ranks
  };
  // Another damaged gang that has waited as long, with members where this one could use room.
  std::string PartnerOf(const framework::Session& session, const framework::JobRound& round) const;

  std::map<std::string, Trouble> troubles_;  // by job
};

}  // namespace sky::actions
