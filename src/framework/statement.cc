// SPDX-License-Identifier: Apache-2.0
#include "framework/statement.h"

#include <utility>

#include "base/check.h"
#include "framework/session.h"

namespace sky::framework {

using model::Claim;

std::string_view OperationName(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::kAllocateTaskToQuota:
      return "AllocateTaskToQuota";
    case Operation::Kind::kAllocateTaskToNode:
      return "AllocateTaskToNode";
    case Operation::Kind::kAllocateQuotaToNode:
      return "AllocateQuotaToNode";
    case Operation::Kind::kAllocate:
      return "Allocate";
    case Operation::Kind::kLift:
      return "Lift";
    case Operation::Kind::kAllocateReservedResource:
      return "AllocateReservedResource";
    case Operation::Kind::kLiftReservation:
      return "LiftReservation";
  }
  return "";
}

Statement::Statement(Statement&& other) noexcept
    : session_(other.session_), operations_(std::exchange(other.operations_, {})) {}

void Statement::Record(Operation operation) {
  operations_.push_back(std::move(operation));
  for (const EventHandler& handler : session_.handlers)
    if (handler.allocate) handler.allocate(operations_.back());
}

void Statement::AllocateTaskToQuota(model::TaskId task, model::QuotaId quota, model::NodeId node) {
  Own(Operation::Kind::kAllocateTaskToQuota, task, quota, node);
}

void Statement::AllocateReservedResource(model::TaskId task, model::QuotaId quota,
                                         model::NodeId node) {
  SKY_CHECK(session_.cluster_.tasks()[task].heir_of == quota, "task {}",
            session_.cluster_.tasks()[task].name);
  Own(Operation::Kind::kAllocateReservedResource, task, quota, node);
}

void Statement::Own(Operation::Kind kind, model::TaskId task, model::QuotaId quota,
                    model::NodeId node) {
  model::Cluster& cluster = session_.cluster_;
  SKY_CHECK(cluster.tasks()[task].placeable(), "task {}", cluster.tasks()[task].name);
  Operation operation{
      kind, task, quota, node, cluster.tasks()[task].claim, cluster.quotas()[quota].planned};
  cluster.SetClaim(task, Claim{Claim::Phase::kToQuota, quota, {}, 0});
  if (!cluster.quotas()[quota].node.valid()) cluster.PlanQuota(quota, node);
  cluster.FlushLedgers();
  Record(operation);
}

void Statement::AllocateTaskToNode(model::TaskId task, model::NodeId node) {
  model::Cluster& cluster = session_.cluster_;
  SKY_CHECK(cluster.tasks()[task].placeable(), "task {}", cluster.tasks()[task].name);
  Operation operation{Operation::Kind::kAllocateTaskToNode, task, {}, node,
                      cluster.tasks()[task].claim,          {}};
  cluster.SetClaim(task, Claim{Claim::Phase::kToQuota, {}, node, 0});
  cluster.FlushLedgers();
  Record(operation);
}

void Statement::LiftReservation(model::QuotaId id, const std::string& job, bool place_only) {
  model::Cluster& cluster = session_.cluster_;
  const model::Quota& quota = cluster.quotas()[id];
  Operation operation{
      Operation::Kind::kLiftReservation, {}, id, {}, {}, {}, quota.reserved, quota.kept};
  model::LeftKept left = model::WithoutPlacesOf(quota, job, place_only);
  cluster.SetReserved(id, std::move(left.reserved), left.kept);
  cluster.FlushLedgers();
  Record(std::move(operation));
}

void Statement::AllocateQuotaToNode(model::QuotaId quota, model::NodeId node) {
  model::Cluster& cluster = session_.cluster_;
  Operation operation{Operation::Kind::kAllocateQuotaToNode, {}, quota, node, {},
                      cluster.quotas()[quota].planned};
  cluster.BindQuota(quota, node);
  cluster.FlushLedgers();
  Record(operation);
}

void Statement::Allocate(model::TaskId task) {
  model::Cluster& cluster = session_.cluster_;
  const Claim before = cluster.tasks()[task].claim;
  SKY_CHECK(before.open() && before.node.valid() && !before.approved, "task {}",
            cluster.tasks()[task].name);
  Claim approved = before;
  approved.approved = true;
  Operation operation{Operation::Kind::kAllocate, task, before.quota, before.node, before, {}};
  cluster.SetClaim(task, approved);
  cluster.FlushLedgers();
  Record(operation);
}

void Statement::Lift(model::TaskId task) {
  model::Cluster& cluster = session_.cluster_;
  const Claim before = cluster.tasks()[task].claim;
  SKY_CHECK(before.open(), "task {}", cluster.tasks()[task].name);
  Operation operation{Operation::Kind::kLift, task, before.quota, before.node, before, {}};
  cluster.SetClaim(task, Claim{});
  cluster.FlushLedgers();
  Record(operation);
}

void Statement::Undo(const Operation& operation) {
  model::Cluster& cluster = session_.cluster_;
  switch (operation.kind) {
    case Operation::Kind::kAllocateTaskToQuota:
    case Operation::Kind::kAllocateReservedResource:
      cluster.SetClaim(operation.task, operation.claim_before);
      if (cluster.quotas()[operation.quota].planned != operation.planned_before)
        cluster.PlanQuota(operation.quota, operation.planned_before);
      break;
    case Operation::Kind::kAllocateQuotaToNode:
      cluster.BindQuota(operation.quota, {});
      break;
    case Operation::Kind::kLiftReservation:
      cluster.SetReserved(operation.quota, operation.reserved_before, operation.kept_before);
      break;
    case Operation::Kind::kAllocateTaskToNode:
    case Operation::Kind::kAllocate:
    case Operation::Kind::kLift:
      cluster.SetClaim(operation.task, operation.claim_before);
      break;
  }
  cluster.FlushLedgers();
  for (const EventHandler& handler : session_.handlers)
    if (handler.deallocate) handler.deallocate(operation);
}

void Statement::RollBackTo(size_t savepoint) {
  while (operations_.size() > savepoint) {
    const Operation last = operations_.back();
    operations_.pop_back();
    Undo(last);
  }
}

}  // namespace sky::framework
