// SPDX-License-Identifier: Apache-2.0
// Terms by which quotas, and pods, ask to be near or away from quotas: reading the note that holds
// a pod's, and which labels of quotas such terms read. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/crds.h"
#include "base/result.h"

namespace sky::model {

// What the annotation pod-quota-affinity says; an error tells what is wrong with it.
Result<api::QuotaTerms> ReadQuotaTerms(std::string_view note);
// The keys of all labels that the terms' selectors read.
std::vector<std::string> KeysReadBy(const api::QuotaTerms& terms);

}  // namespace sky::model
