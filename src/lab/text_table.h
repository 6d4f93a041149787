// SPDX-License-Identifier: Apache-2.0
// Rows of cells as aligned columns for people, two spaces apart; an empty cell shows as "-". Pure.
#pragma once

#include <string>
#include <vector>

namespace sky::lab {

using TextRow = std::vector<std::string>;

// The first row is the heading. Every row has as many cells as it.
std::string AlignedTable(const std::vector<TextRow>& rows);

}  // namespace sky::lab
