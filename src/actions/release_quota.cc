// SPDX-License-Identifier: Apache-2.0
// releaseQuota: whoever owns a share without a machine gives it back now (F4: AllocatedToQuota
// never outlives its cycle). Shares of finished tasks and voided rounds come back by themselves: a
// quota's node follows from who uses it.
#include "actions/actions.h"
#include "framework/session.h"

namespace sky::actions {
namespace {

class ReleaseQuota final : public framework::Action {
 public:
  std::string_view name() const override { return "releaseQuota"; }

  void Execute(framework::Session& session) override {
    for (auto& [job, round] : session.rounds) {
      framework::Refusals why = round->plan.why;
      // allocateZone and allocateQuota leave no round behind: one of them didn't run after it.
      if (why.empty()) {
        why.Add(model::Reason::kInsufficientQuotaIdle);
        why.detail = "it has a plan, and no action of the configuration brings it to a node";
      }
      session.Refuse(job, std::move(why));
    }
    session.rounds.clear();
  }
};

}  // namespace

std::unique_ptr<framework::Action> MakeReleaseQuota() { return std::make_unique<ReleaseQuota>(); }

void AddAllActions(framework::Registry& registry) {
  registry.actions.emplace("allocateJob", MakeAllocateJob);
  registry.actions.emplace("allocateZone", MakeAllocateZone);
  registry.actions.emplace("allocateQuota", MakeAllocateQuota);
  registry.actions.emplace("bind", MakeBind);
  registry.actions.emplace("reclaim", MakeReclaim);
  registry.actions.emplace("backfill", MakeBackfill);
  registry.actions.emplace("releaseQuota", MakeReleaseQuota);
}

}  // namespace sky::actions
