// SPDX-License-Identifier: Apache-2.0
#include "framework/config_fields.h"

namespace sky::framework {
namespace {

Tree Texts(const std::vector<std::string>& texts) {
  Tree list;
  list.kind = Tree::Kind::kList;
  for (const std::string& text : texts) list.list.push_back(Tree::Text(text));
  return list;
}

Tree Value(const DurationField& field, const Config& config) {
  return Tree::Text(FormatDuration(config.*field.member));
}
Tree Value(const LimitField& field, const Config& config) {
  const std::optional<Duration>& value = config.*field.member;
  return Tree::Text(value ? FormatDuration(*value) : std::string(kNoLimit));
}
Tree Value(const TextField& field, const Config& config) {
  return Tree::Text(config.*field.member);
}
Tree Value(const TextsField& field, const Config& config) { return Texts(config.*field.member); }
template <class Choice>
Tree Value(const ChoiceField<Choice>& field, const Config& config) {
  return Tree::Text(std::string(field.names[static_cast<size_t>(config.*field.member)]));
}
Tree Value(const ResourcesField& field, const Config& config) {
  const TopologyResources& resources = config.*field.member;
  return Tree::Map({{"roce", {}, Texts(resources.roce)}, {"ib", {}, Texts(resources.ib)}});
}
Tree Value(const ActionsField&, const Config& config) { return Texts(config.actions); }
Tree Value(const PluginsField&, const Config& config) {
  Tree list;
  list.kind = Tree::Kind::kList;
  for (const PluginConfig& plugin : config.plugins) {
    Tree entry = Tree::Map({{"name", {}, Tree::Text(plugin.name)}});
    if (!plugin.args.tree().map.empty()) entry.map.push_back({"args", {}, plugin.args.tree()});
    list.list.push_back(std::move(entry));
  }
  return list;
}
Tree Value(const ExpressionsField&, const Config& config) {
  Tree map = Tree::Map({});
  for (const auto& [callback, expression] : config.expressions)
    map.map.push_back({callback, {}, Tree::Text(expr::Print(expression))});
  return map;
}

}  // namespace

std::string PrintConfig(const Config& config) {
  Tree whole = Tree::Map({});
  for (const Field& field : ConfigFields()) {
    Tree value = std::visit([&](const auto& kind) { return Value(kind, config); }, field.kind);
    // Without plugins or actions there is nothing that the file could say; the defaults say the
    // same.
    const bool unsayable = value.kind == Tree::Kind::kList && value.list.empty();
    if (!unsayable) whole.map.push_back({std::string(field.name), {}, std::move(value)});
  }
  return PrintTree(whole) + "\n";
}

}  // namespace sky::framework
