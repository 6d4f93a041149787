// SPDX-License-Identifier: Apache-2.0
// A transaction on the session's cluster: operations with Do and Undo, each told to the plugins'
// event handlers. A statement that dies undoes itself, newest first, and leaves the session bit for
// bit as it was; Keep() gives its operations to the session for good (the round was assumed).
// Savepoints are indexes. Only a Statement changes the session's cluster.
#pragma once

#include <cstdint>
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
  };
  Kind kind;
  model::TaskId task;  // all but kAllocateQuotaToNode
  model::QuotaId quota;
  model::NodeId node;  // where the plan puts it
  // What Undo restores.
  model::Claim claim_before;
  model::NodeId planned_before;
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
  void Record(Operation operation);
  void Undo(const Operation& operation);

  Session& session_;
  std::vector<Operation> operations_;
};

}  // namespace sky::framework
