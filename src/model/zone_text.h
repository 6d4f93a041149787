// SPDX-License-Identifier: Apache-2.0
// Zones and switches as people read them, in records, reasons and tables: "roce#S1,S2" is the set
// of two switches. Names may hold any character, so one that could be taken for something else is
// quoted: the single switch named S1,S2 is roce#"S1,S2". Different keys have different texts. Pure.
#pragma once

#include <string>
#include <string_view>

namespace sky::model {

// `key`: as model::Names has it, the switches of a set separated by '\0'.
std::string ZoneText(std::string_view key);
// A name within a list with commas.
std::string SwitchText(std::string_view name);

}  // namespace sky::model
