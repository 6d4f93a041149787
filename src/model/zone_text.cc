// SPDX-License-Identifier: Apache-2.0
#include "model/zone_text.h"

namespace sky::model {

std::string SwitchText(std::string_view name) {
  if (name.find_first_of(",\"\n") == std::string_view::npos) return std::string(name);
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + '"';
}

std::string ZoneText(std::string_view key) {
  // The network, if the zone is a set of its switches, and not a name that people gave.
  const size_t names = key.find('#') + 1;  // npos + 1 is 0
  std::string text(key.substr(0, names));
  key.remove_prefix(names);
  while (true) {
    const size_t end = key.find('\0');
    text += SwitchText(key.substr(0, end));
    if (end == std::string_view::npos) return text;
    text += ',';
    key.remove_prefix(end + 1);
  }
}

}  // namespace sky::model
