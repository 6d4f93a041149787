// SPDX-License-Identifier: Apache-2.0
// Whether a job of which nobody runs may begin at all, by its group, its class and its queue. Asked
// before it is planned, when an older decision is judged, and before its first binding. Pure.
#pragma once

#include "model/cluster.h"

namespace sky::model {

Verdict MayBegin(const Cluster& cluster, const Job& job);

}  // namespace sky::model
