// SPDX-License-Identifier: Apache-2.0
// What extends the scheduler: actions that run in each cycle, plugins that answer their questions,
// and the registry that names both. A Registry is a value that AllPlugins() and AllActions() fill;
// a test builds one with two plugins. Nothing registers itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config.h"

namespace sky::framework {

class Session;

class Action {
 public:
  virtual ~Action() = default;
  virtual std::string_view name() const = 0;
  virtual void Execute(Session& session) = 0;
};

// Made once, with its arguments; opened anew for each session, where all that it hooks is
// registered.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  virtual void OnSessionOpen(Session& session) = 0;
  virtual void OnSessionClose(Session&) {}
};

// A plugin with a controller of its own that lives across sessions: told of time before a session
// opens, on the scheduling thread, once the moment has come that it asked for. The scheduler runs a
// cycle at that moment, or soon after.
class ReconcilablePlugin : public Plugin {
 public:
  virtual void Reconcile(WallTime now) = 0;
  virtual std::optional<WallTime> NextReconcile() const = 0;
};

struct PluginKind {
  std::function<Result<std::unique_ptr<Plugin>>(const PluginArgs& args, const Config& config)> make;
  std::vector<ArgSpec> args;           // what it understands
  std::vector<std::string> callbacks;  // what it may register
};

struct Registry {
  std::map<std::string, PluginKind, std::less<>> plugins;
  std::map<std::string, std::function<std::unique_ptr<Action>()>, std::less<>> actions;
  KnownNames Known() const;
};

}  // namespace sky::framework
