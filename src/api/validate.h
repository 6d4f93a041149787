// SPDX-License-Identifier: Apache-2.0
// Which of our objects are wrong, and how: the C++ twin of every x-kubernetes-validations rule in
// deploy/crds, with its message, for the embedded API server; and what else must hold before the
// scheduler may trust an object that was stored under an older schema, for the cache.
// tests/data/bad_objects.yaml holds rule and twin together. Pure.
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
std::vector<Violation> Validate(const QuotaTerms& terms);  // as a pod's note has them
std::vector<Violation> Validate(const JobQueue& object);
std::vector<Violation> Validate(const NodeTopology& object);
std::vector<Violation> Validate(const Placement& object);
std::vector<Violation> Validate(const QuotaSet& object);

// "spec.minMember: must be at least 1; spec.queue: …"
std::string Describe(const std::vector<Violation>& violations);

}  // namespace sky::api
