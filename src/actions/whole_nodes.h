// SPDX-License-Identifier: Apache-2.0
// `pick: leastFragment` (F44): of a question's nodes that are whole, with no accelerator in use, as
// few are admitted as its tasks can do with. Pure.
#pragma once

#include <vector>

#include "topology/places.h"

namespace sky::actions {

// `whole`: by spot. Where even all of them aren't enough, all stay. What it costs is taken from
// `budget`.
void KeepWhole(topology::Question& question, const std::vector<bool>& whole,
               const model::ResourceNames& names, int64_t& budget);

}  // namespace sky::actions
