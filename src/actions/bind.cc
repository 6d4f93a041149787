// SPDX-License-Identifier: Apache-2.0
// bind: for every task whose quota has a node, asks once more whether it may run there, and lets
// the gang's bindings go together when JobReady agrees. Rounds of earlier cycles that waited are
// asked again.
#include <map>

#include "actions/actions.h"
#include "framework/session.h"

namespace sky::actions {
namespace {

class Bind final : public framework::Action {
 public:
  std::string_view name() const override { return "bind"; }

  void Execute(framework::Session& session) override {
    std::map<uint64_t, std::vector<model::TaskId>> rounds;
    for (const model::TaskId task : session.cluster().unapproved())
      rounds[session.cluster().tasks()[task].claim.round].push_back(task);
    for (const auto& [round, tasks] : rounds) Release(session, round, tasks);
  }

 private:
  static void Release(framework::Session& session, uint64_t round,
                      const std::vector<model::TaskId>& tasks) {
    const model::Cluster& cluster = session.cluster();
    framework::Statement statement(session);
    framework::Refusals why;
    const model::JobId job = cluster.tasks()[tasks.front()].job;
    for (const model::TaskId task : tasks) {
      const model::Verdict verdict =
          session.task_to_node.Feasible(task, cluster.tasks()[task].claim.node);
      why.Add(verdict);
      if (verdict.fit()) statement.Allocate(task);
    }
    if (!why.empty() || !job.valid() || !session.JobReady(job)) {
      if (job.valid() && !why.empty()) session.Refuse(job, std::move(why));
      return;
    }
    statement.Keep();
    session.Approve(round);
  }
};

}  // namespace

std::unique_ptr<framework::Action> MakeBind() { return std::make_unique<Bind>(); }

}  // namespace sky::actions
