// SPDX-License-Identifier: Apache-2.0
#include "framework/config.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/nearest.h"
#include "framework/config_expressions.h"
#include "framework/config_fields.h"
#include "framework/problems.h"

namespace sky::framework {
namespace {

struct ActionRow {
  std::string_view name;
  std::string_view without;  // what becomes of jobs
};
constexpr std::array<ActionRow, 7> kActions = {{
    {"allocateJob", "nothing but spot pods is planned"},
    {"allocateZone", "jobs with topology get no nodes"},
    {"allocateQuota", "jobs without topology get no nodes"},
    {"bind", "what was decided is not bound"},
    {"reclaim", "spot pods give no room back"},
    {"backfill", "spot pods are not placed"},
    {"releaseQuota", "what finds no node keeps its room until the cycle ends, and gives no reason"},
}};
constexpr std::array<std::string_view, 15> kPluginOrder = {
    "priority",      "gang",      "conformance", "drf",        "topology",
    "binpack",       "jobqueue",  "backoff",     "predicates", "quotapredicates",
    "quotaaffinity", "nodeorder", "storage",     "sylas",      "rescheduling"};

std::vector<std::string_view> ActionOrder() {
  std::vector<std::string_view> names;
  for (const ActionRow& action : kActions) names.push_back(action.name);
  return names;
}

// By the documented order; names that it lacks stay behind, in the order they came in.
std::vector<std::string> SortedBy(std::span<const std::string_view> order,
                                  const std::vector<std::string>& names) {
  std::vector<std::string> sorted;
  for (const std::string_view name : order)
    if (std::find(names.begin(), names.end(), name) != names.end()) sorted.emplace_back(name);
  for (const std::string& name : names)
    if (std::find(order.begin(), order.end(), name) == order.end()) sorted.push_back(name);
  return sorted;
}

std::vector<std::string> PluginNames(const KnownNames& known) {
  std::vector<std::string> names;
  for (const KnownPlugin& plugin : known.plugins) names.push_back(plugin.name);
  return names;
}

std::string Join(std::span<const std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names)
    joined += fmt::format("{}{}", joined.empty() ? "" : ", ", name);
  return joined;
}

class Loader {
 public:
  Loader(std::string_view document, const KnownNames& known, Config& config, Problems& problems)
      : document_(document), known_(known), config_(config), problems_(problems) {}

  void Load(const Tree& root) {
    if (root.kind == Tree::Kind::kNull) return;
    if (root.kind != Tree::Kind::kMap)
      return problems_.Add(root.at,
                           fmt::format("a configuration is a map of keys, not {}", Describe(root)));
    std::vector<std::string_view> names;
    for (const Field& field : ConfigFields()) names.push_back(field.name);
    for (const TreeEntry& entry : root.map)
      if (std::find(names.begin(), names.end(), entry.key) == names.end())
        problems_.Add(entry.at,
                      fmt::format("unknown key '{}'{}", entry.key, DidYouMean(entry.key, names)));
    // In the table's order, since expressions need to know the plugins.
    for (const Field& field : ConfigFields()) {
      const Tree* given = root.Find(field.name);
      if (given == nullptr) continue;
      key_ = field.name;
      std::visit([&](const auto& kind) { Read(kind, *given); }, field.kind);
    }
    if (const Tree* delay = root.Find("batchDelay"); config_.batch_delay > config_.period)
      problems_.Add(
          delay != nullptr ? delay->at : root.Find("period")->at,
          fmt::format("'batchDelay' ({}) must not be longer than 'period' ({})",
                      FormatDuration(config_.batch_delay), FormatDuration(config_.period)));
  }

 private:
  void Wrong(const Tree& at, std::string_view message) {
    problems_.Add(at.at, fmt::format("'{}': {}", key_, message));
  }

  // Puts the value where it belongs, or says what is wrong with it.
  template <class T, class U>
  bool Keep(const Tree& given, const Result<T>& value, U& into) {
    if (value)
      into = *value;
    else
      Wrong(given, value.error().message());
    return value.has_value();
  }

  void AtLeast(const Tree& given, Duration value, Duration least) {
    if (value < least)
      Wrong(given, fmt::format("must be at least {}, not {}", FormatDuration(least),
                               FormatDuration(value)));
  }

  void Read(const DurationField& field, const Tree& given) {
    Duration& value = config_.*field.member;
    if (Keep(given, AsDuration(given), value)) AtLeast(given, value, field.least);
  }

  void Read(const LimitField& field, const Tree& given) {
    std::optional<Duration>& value = config_.*field.member;
    if (given.kind == Tree::Kind::kText && given.text == kNoLimit) return value.reset();
    const Result<Duration> limit = AsDuration(given);
    if (!limit)
      return Wrong(given, fmt::format("{}; or write {}", limit.error().message(), kNoLimit));
    value = *limit;
    AtLeast(given, *limit, field.least);
  }

  void Read(const TextField& field, const Tree& given) {
    std::string& value = config_.*field.member;
    if (!Keep(given, AsText(given), value)) return;
    if (const Status fits = field.check(value); !fits) Wrong(given, fits.error().message());
  }

  void Read(const TextsField& field, const Tree& given) {
    if (!Keep(given, AsTexts(given), config_.*field.member)) return;
    RefuseEmptyAndTwice(given);
    for (const Tree& item : given.list)
      if (const Status fits = field.check(item.text); !fits) Wrong(item, fits.error().message());
  }

  template <class Choice>
  void Read(const ChoiceField<Choice>& field, const Tree& given) {
    const auto name = std::find(field.names.begin(), field.names.end(), given.text);
    if (given.kind == Tree::Kind::kText && name != field.names.end())
      config_.*field.member = static_cast<Choice>(name - field.names.begin());
    else
      Wrong(given, fmt::format("must be one of {}, not {}{}", Join(field.names), Describe(given),
                               DidYouMean(given.text, field.names)));
  }

  void Read(const ResourcesField& field, const Tree& given) {
    constexpr std::array<std::string_view, 2> kKeys = {"roce", "ib"};
    if (given.kind != Tree::Kind::kMap)
      return Wrong(given, fmt::format("must be a map with the keys {}, not {}", Join(kKeys),
                                      Describe(given)));
    TopologyResources& resources = config_.*field.member;
    for (const TreeEntry& entry : given.map) {
      if (entry.key == kKeys[0])
        ReadResources(entry.value, resources.roce);
      else if (entry.key == kKeys[1])
        ReadResources(entry.value, resources.ib);
      else
        problems_.Add(entry.at, fmt::format("'{}': unknown key '{}'; there are {}", key_, entry.key,
                                            Join(kKeys)));
    }
  }

  void ReadResources(const Tree& given, std::vector<std::string>& into) {
    if (!Keep(given, AsTexts(given), into)) return;
    for (const Tree& item : given.list)
      if (item.text.empty()) Wrong(item, "a resource's name is empty");
  }

  void Read(const ActionsField&, const Tree& given) {
    if (!Keep(given, AsTexts(given), config_.actions)) return;
    RefuseEmptyAndTwice(given);
    for (const Tree& item : given.list)
      if (std::find(known_.actions.begin(), known_.actions.end(), item.text) ==
          known_.actions.end())
        Wrong(item, fmt::format("unknown action '{}'{}", item.text,
                                DidYouMean(item.text, known_.actions)));
    WarnOfLeftOut(given);
    WarnOfOrder(given);
  }

  void WarnOfLeftOut(const Tree& given) {
    for (const auto& [name, without] : kActions)
      if (std::ranges::count(known_.actions, name) > 0 &&
          std::ranges::count(config_.actions, name) == 0)
        problems_.Warn(given.at, fmt::format("'{}' leaves out '{}': {}", key_, name, without));
  }

  // Plans live for one cycle.
  void WarnOfOrder(const Tree& given) {
    const auto at = [&](std::string_view name) {
      return std::ranges::find(config_.actions, name) - config_.actions.begin();
    };
    const auto plans = at("allocateJob");
    if (plans == std::ssize(config_.actions)) return;
    for (const std::string_view name : {"allocateZone", "allocateQuota"})
      if (at(name) < plans)
        problems_.Warn(given.list[static_cast<size_t>(at(name))].at,
                       fmt::format("'{}' has '{}' before 'allocateJob', whose plans it never sees",
                                   key_, name));
  }

  void RefuseEmptyAndTwice(const Tree& given) {
    if (given.list.empty()) Wrong(given, "is an empty list; leave the key out for the default");
    std::set<std::string_view> seen;
    for (const Tree& item : given.list)
      if (!seen.insert(item.text).second)
        Wrong(item, fmt::format("'{}' is listed twice", item.text));
  }

  void Read(const PluginsField&, const Tree& given) {
    if (given.kind != Tree::Kind::kList)
      return Wrong(given,
                   fmt::format("must be a list such as [{{name: gang}}], not {}", Describe(given)));
    if (given.list.empty())
      return Wrong(given, "is an empty list; leave the key out for the default");
    config_.plugins.clear();
    for (const Tree& item : given.list) ReadPlugin(item);
  }

  void ReadPlugin(const Tree& given) {
    const Tree* name = given.Find("name");
    const Tree* args = given.Find("args");
    for (const TreeEntry& entry : given.map)
      if (entry.key != "name" && entry.key != "args")
        problems_.Add(entry.at, fmt::format("'{}': unknown key '{}'; a plugin has name and args",
                                            key_, entry.key));
    if (name == nullptr || name->kind != Tree::Kind::kText)
      return Wrong(name == nullptr ? given : *name,
                   "each item needs the name of a plugin, as in {name: gang}");
    if (args != nullptr && args->kind != Tree::Kind::kMap)
      return Wrong(
          *args, fmt::format("'args' of '{}' must be a map, not {}", name->text, Describe(*args)));
    const auto same = [&](const auto& plugin) { return plugin.name == name->text; };
    const auto plugin = std::find_if(known_.plugins.begin(), known_.plugins.end(), same);
    if (plugin == known_.plugins.end())
      return Wrong(*name, fmt::format("unknown plugin '{}'{}", name->text,
                                      DidYouMean(name->text, PluginNames(known_))));
    if (std::any_of(config_.plugins.begin(), config_.plugins.end(), same))
      return Wrong(*name, fmt::format("'{}' is listed twice", name->text));
    Tree given_args = args == nullptr ? Tree::Map({}) : *args;
    if (args == nullptr) given_args.at = given.at;
    PluginArgs checked(name->text, problems_.origin(), std::move(given_args));
    for (Problem& problem : checked.Check(plugin->args)) problems_.Add(std::move(problem));
    config_.plugins.push_back({name->text, std::move(checked)});
  }

  void Read(const ExpressionsField&, const Tree& given) {
    if (given.kind != Tree::Kind::kMap)
      return Wrong(given, fmt::format("must be a map from callbacks to expressions, not {}",
                                      Describe(given)));
    ReadExpressions(given, document_, known_, config_, problems_);
  }

  std::string_view document_;
  const KnownNames& known_;
  Config& config_;
  Problems& problems_;
  std::string_view key_;  // being read
};

}  // namespace

Config DefaultConfig(const KnownNames& known) {
  Config config;
  config.actions = SortedBy(ActionOrder(), known.actions);
  for (const std::string& name : SortedBy(kPluginOrder, PluginNames(known)))
    config.plugins.push_back({name, PluginArgs(name, "defaults", Tree::Map({}))});
  config.expressions = DefaultExpressions(known.callbacks);
  return config;
}

Result<LoadedConfig> LoadConfig(std::string_view document, std::string_view origin,
                                const KnownNames& known) {
  Problems problems{std::string(origin)};
  LoadedConfig loaded{DefaultConfig(known), {}};
  std::expected<Tree, Problem> root = ReadTree(document);
  if (root)
    Loader(document, known, loaded.config, problems).Load(*root);
  else
    problems.Add(std::move(root.error()));
  if (!problems.empty()) return std::unexpected(problems.ToError());
  loaded.warnings = problems.Warnings();
  return loaded;
}

}  // namespace sky::framework
