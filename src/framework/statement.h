// SPDX-License-Identifier: Apache-2.0
// A transaction on the session's cluster: operations with Do and Undo, each told to the plugins'
// event handlers. A statement that dies undoes itself, newest first, and leaves the session bit for
// bit as it was; Keep() gives its operations to the session for good (the round was assumed).
// Savepoints are indexes. Only a Statement changes the session's cluster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace sky::framework {

class Session;

struct Operation {
  enum class Kind : uint8_t {
    kAllocateTaskToQuota,  // hop 1: task → quota, planned for a node
    kAllocateTaskToNode,   // spot: task → node, without a quota
    kAllocateQuotaToNode,  // hop 2: quota → node
    kAllocate,             // bind: the task goes to its quota's node
    kLift,                 // bind: an older claim is put aside, to be judged as if newly planned
    kAllocateReservedResource,  // hop 1: task → the quota that keeps room for it
    kLiftReservation,           // what a quota keeps for its job, or the place of it, is given up
  };
  Kind kind;
  model::TaskId task;  // all but kAllocateQuotaToNode
  model::QuotaId quota;
  model::NodeId node;  // where the plan puts it
  // What Undo restores.
  model::Claim claim_before;
  model::NodeId planned_before;
  std::vector<model::Reservation> reserved_before = {};
  model::NodeId kept_before = {};
};
std::string_view OperationName(Operation::Kind kind);

class Statement {
 public:
  explicit Statement(Session& session) : session_(session) {}
  ~Statement() { Discard(); }
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;

  // The task owns a share; the share is charged at `node` at once (F4), so nobody else plans on it.
  void AllocateTaskToQuota(model::TaskId task, model::QuotaId quota, model::NodeId node);
  // The task will use the node without a quota.
  void AllocateTaskToNode(model::TaskId task, model::NodeId node);
  // The quota and every task of this statement on it go to the node.
  void AllocateQuotaToNode(model::QuotaId quota, model::NodeId node);
  // The same for the quota that keeps room for the task: it takes over what its predecessor had.
  void AllocateReservedResource(model::TaskId task, model::QuotaId quota, model::NodeId node);
  // The quota keeps nothing for the job any more, or (`place_only`) on no node of its own.
  void LiftReservation(model::QuotaId quota, const std::string& job, bool place_only);
  // The task of a quota that has a node is ready to be bound.
  void Allocate(model::TaskId task);
  // The task is as if it had no claim, until this is undone.
  void Lift(model::TaskId task);

  size_t Savepoint() const { return operations_.size(); }
  void RollBackTo(size_t savepoint);
  void Discard() { RollBackTo(0); }
  // Ends the transaction: nothing is undone any more.
  void Keep() { operations_.clear(); }
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  void Own(Operation::Kind kind, model::TaskId task, model::QuotaId quota, model::NodeId node);
  void Record(Operation operation);
  void Undo(const Operation& operation);

  Session& session_;
  std::vector<Operation> operations_;
};

}  // namespace sky::framework
