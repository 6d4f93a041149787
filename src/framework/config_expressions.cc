// SPDX-License-Identifier: Apache-2.0
#include "framework/config_expressions.h"

#include <algorithm>

#include "base/check.h"
#include "base/nearest.h"

namespace sky::framework {
namespace {

using expr::Expression;

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string Hint(std::string_view key, const std::vector<std::string_view>& names) {
  const std::string near = DidYouMean(key, names);
  if (!near.empty()) return near;
  return "; a key is bundle.stage, such as quotaToNode.predicate, or a session function, such as "
         "jobOrder";
}

class Reader {
 public:
  Reader(std::string_view document, const KnownNames& known, Config& config, Problems& problems)
      : document_(document), known_(known), config_(config), problems_(problems) {}

  void ReadAll(const Tree& given) {
    std::vector<std::string_view> names;
    for (const Callback& callback : known_.callbacks) names.push_back(callback.name);
    for (const TreeEntry& entry : given.map) {
      const auto name = std::find(names.begin(), names.end(), entry.key);
      if (name == names.end())
        problems_.Add(entry.at,
                      fmt::format("unknown callback '{}'{}", entry.key, Hint(entry.key, names)));
      else
        ReadOne(known_.callbacks[static_cast<size_t>(name - names.begin())], entry.value);
    }
  }

 private:
  void ReadOne(const Callback& callback, const Tree& given) {
    if (given.kind != Tree::Kind::kText) {
      problems_.Add(given.at, fmt::format("'{}' must be an expression such as {}, not {}",
                                          callback.name, callback.expression, Describe(given)));
      return;
    }
    const auto in_document = [&](Position inside) {
      return InDocument(document_, given.at, given.text, inside);
    };
    auto parsed = expr::Parse(given.text);
    const expr::Checked checked =
        parsed ? expr::Check(*parsed, callback.type) : std::unexpected(parsed.error());
    if (!checked) {
      problems_.Add(in_document(checked.error().at),
                    fmt::format("'{}': {}", callback.name, checked.error().message));
      return;
    }
    Expression& stored = config_.expressions[std::string(callback.name)];
    // The default may name plugins that this build hasn't; so may a file that repeats it.
    if (*parsed == stored) return;
    expr::ForEachName(*parsed, [&](const Expression& name) {
      CheckName(callback, name.name, in_document(name.at));
    });
    if (callback.veto) WarnOfLeftOut(callback, *parsed, given.at);
    stored = std::move(*parsed);
  }

  void CheckName(const Callback& callback, const std::string& name, Position at) {
    const auto named = [&](const auto& plugin) { return plugin.name == name; };
    const auto plugin = std::find_if(known_.plugins.begin(), known_.plugins.end(), named);
    if (plugin == known_.plugins.end()) {
      std::vector<std::string> names;
      for (const KnownPlugin& each : known_.plugins) names.push_back(each.name);
      problems_.Add(at, fmt::format("'{}': unknown plugin '{}'{}", callback.name, name,
                                    DidYouMean(name, names)));
    } else if (std::none_of(config_.plugins.begin(), config_.plugins.end(), named)) {
      problems_.Warn(
          at, fmt::format("'{}' names the plugin '{}', which isn't enabled", callback.name, name));
    } else if (!plugin->callbacks.empty() && !Has(plugin->callbacks, callback.name)) {
      problems_.Warn(at, fmt::format("'{}' names the plugin '{}', which takes no part in it",
                                     callback.name, name));
    }
  }

  void WarnOfLeftOut(const Callback& callback, const Expression& expression, Position at) {
    if (expr::MentionsAll(expression)) return;
    std::vector<std::string> mentioned;
    expr::ForEachName(expression, [&](const Expression& name) { mentioned.push_back(name.name); });
    for (const KnownPlugin& plugin : known_.plugins) {
      const auto named = [&](const PluginConfig& enabled) { return enabled.name == plugin.name; };
      const bool enabled = std::any_of(config_.plugins.begin(), config_.plugins.end(), named);
      if (!enabled || !Has(plugin.callbacks, callback.name) || Has(mentioned, plugin.name))
        continue;
      problems_.Warn(
          at, fmt::format(
                  "'{}' leaves out the plugin '{}', whose veto then counts for nothing; name it, "
                  "or write all for every plugin",
                  callback.name, plugin.name));
    }
  }

  std::string_view document_;
  const KnownNames& known_;
  Config& config_;
  Problems& problems_;
};

}  // namespace

std::map<std::string, Expression, std::less<>> DefaultExpressions(
    std::span<const Callback> callbacks) {
  std::map<std::string, Expression, std::less<>> expressions;
  for (const Callback& callback : callbacks) {
    auto parsed = expr::Parse(callback.expression);
    SKY_CHECK(parsed && expr::Check(*parsed, callback.type), "default of {}: {}", callback.name,
              callback.expression);
    expressions.emplace(callback.name, std::move(*parsed));
  }
  return expressions;
}

void ReadExpressions(const Tree& given, std::string_view document, const KnownNames& known,
                     Config& config, Problems& problems) {
  Reader(document, known, config, problems).ReadAll(given);
}

}  // namespace sky::framework
