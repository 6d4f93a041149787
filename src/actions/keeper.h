// SPDX-License-Identifier: Apache-2.0
// Gives earmarks and takes them away (rule 4 of fairness). The first job in order that may begin,
// could be placed if others ended, and has waited for starveAfter or seen a later job start where
// it could have gone, has places kept for it until it starts. Lives as long as the action that
// plans: when it begins it takes up what an earlier life has given. Used on the scheduling thread
// only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actions/naps.h"
#include "actions/planner.h"
#include "framework/session.h"

namespace sky::actions {

class Keeper {
 public:
  // From here on, until End, what is kept is out of others' reach.
  void Begin(framework::Session& session, Capacities& capacities);
  void End(framework::Session& session);

  // It may not begin now, and holds nothing back.
  void NotAdmitted(framework::Session& session, model::JobId job);
  // The planner found no place. `want` is what it waits for.
  void Failed(framework::Session& session, framework::JobRound& round, Planner& planner,
              Want& want);
  // A job has got these places: was somebody passed over?
  void Started(const framework::Session& session, const framework::JobRound& round);

 private:
  void TakeUp(framework::Session& session, Capacities& capacities);
  struct Young {  // it waits, and not for long yet
    model::JobId job;
    model::Network network{};
    std::set<model::CellId> cells;
  };
  void Judge(framework::Session& session, framework::JobRound& round, Planner& planner, Want& want);
  static void Tell(const framework::Session& session, framework::JobRound& round);
  bool MayHave(const framework::Session& session, const framework::JobRound& round) const;
  static bool InVain(const framework::JobRound& round, const Planner& planner,
                     const framework::Earmark& mark);
  void Review(framework::Session& session, const framework::JobRound& round,
              framework::Earmark& mark, Planner& planner, Want& want);
  void Give(framework::Session& session, model::JobId job, framework::Earmark mark);

  bool taken_up_ = false;
  std::optional<Young> first_;              // in this cycle
  std::set<std::string> passed_over_;       // jobs, since they wait
  std::set<std::string> had_turn_, again_;  // whose earmarks ran out; and those who asked again
};

}  // namespace sky::actions
