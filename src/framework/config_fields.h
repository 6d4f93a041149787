// SPDX-License-Identifier: Apache-2.0
// The keys of the configuration that are plain values: name, member, bounds. One table for reading
// and printing, so that a key can't be read and not printed. Used by config.cc and config_print.cc
// alone, and by the test of docs/configuration.md.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "framework/config.h"

namespace sky::framework {

struct DurationField {
  Duration Config::* member;
  Duration least;
};
struct LimitField {  // a duration or `none`
  std::optional<Duration> Config::* member;
  Duration least;
};
struct TextField {
  std::string Config::* member;
  Status (*check)(std::string_view);
};
struct TextsField {
  std::vector<std::string> Config::* member;
  Status (*check)(std::string_view);
};
template <class Choice>
struct ChoiceField {
  Choice Config::* member;
  std::span<const std::string_view> names;  // by value of the enum
};
struct ResourcesField {
  TopologyResources Config::* member;
};
struct ActionsField {};
struct PluginsField {};
struct ExpressionsField {};

struct Field {
  std::string_view name;
  std::variant<DurationField, LimitField, TextField, TextsField, ChoiceField<CommitOrder>,
               ChoiceField<ZoneFrom>, ChoiceField<Pick>, ResourcesField, ActionsField, PluginsField,
               ExpressionsField>
      kind;
};

// In the order of the documentation.
std::span<const Field> ConfigFields();

inline constexpr std::string_view kNoLimit = "none";

}  // namespace sky::framework
