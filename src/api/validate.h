// SPDX-License-Identifier: Apache-2.0
// What a schema can't say and CEL says on a real API server: the C++ twin of every
// x-kubernetes-validations rule in deploy/crds, used by the embedded API server on writes and by
// the cache on objects that were stored under an older schema. Each message is the one that the CEL
// rule gives.
#pragma once

#include <string>
#include <vector>

#include "api/crds.h"

namespace sky::api {

struct Violation {
  std::string field, message;  // field: "spec.minMember"
  bool operator==(const Violation&) const = default;
};

std::vector<Violation> Validate(const PodGroup& object);
std::vector<Violation> Validate(const Queue& object);
std::vector<Violation> Validate(const Quota& object);
std::vector<Violation> Validate(const JobQueue& object);
std::vector<Violation> Validate(const NodeTopology& object);
std::vector<Violation> Validate(const Placement& object);
std::vector<Violation> Validate(const QuotaSet& object);

// "spec.minMember: must be at least 1; spec.queue: …"
std::string Describe(const std::vector<Violation>& violations);

}  // namespace sky::api
