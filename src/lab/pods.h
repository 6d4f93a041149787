// SPDX-License-Identifier: Apache-2.0
// The verbs that only pods have: binding and eviction. Borrowed by ApiServer, under its lock.
#pragma once

#include "lab/writer.h"

namespace sky::lab {

class Pods {
 public:
  Pods(Store& store, const Resources& resources, const Clock& clock, Writer& writer)
      : store_(store), resources_(resources), clock_(clock), writer_(writer) {}

  // POST …/pods/<name>/binding: sets the node once, with the binding's labels and annotations in
  // the same write. 409 for a pod that is bound, leaving or gated, or has another uid or
  // resourceVersion.
  Answered<server::Response> Bind(const Call& call);
  // POST …/pods/<name>/eviction: a delete that disruption budgets may refuse (429).
  Answered<server::Response> Evict(const Call& call);

  // What the disruption controller does: writes the status of each budget whose numbers have
  // changed.
  void CountBudgets();

 private:
  Answered<ObjectPtr> BudgetOf(const Call& call, const Object& pod) const;
  Done SpendBudget(const Call& call, const Json& pod, const Object& budget);
  void CopyTopology(const std::string& node, Json& pod) const;
  void CountBudget(const Resource& budgets, const Object& budget);

  Store& store_;
  const Resources& resources_;
  const Clock& clock_;
  Writer& writer_;
};

}  // namespace sky::lab
