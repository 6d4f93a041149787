// SPDX-License-Identifier: Apache-2.0
// What a build knows and what a configuration makes of it: plugins in the order of the file, errors
// at their line and column, and tables that say the truth about what each plugin registers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "actions/actions.h"
#include "framework/engine.h"
#include "plugins/all_plugins.h"
#include "testing/open_session.h"

namespace sky::framework {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Calls = std::vector<std::string>;

// Notes when it is called; `hook` is what it registers.
class Witness final : public Plugin {
 public:
  Witness(std::string name, Calls& calls) : name_(std::move(name)), calls_(calls) {}
  std::string_view name() const override { return name_; }
  void OnSessionOpen(Session&) override { calls_.push_back("open " + name_); }
  void OnSessionClose(Session&) override { calls_.push_back("close " + name_); }

 private:
  std::string name_;
  Calls& calls_;
};

class Step final : public Action {
 public:
  Step(std::string name, Calls& calls) : name_(std::move(name)), calls_(calls) {}
  std::string_view name() const override { return name_; }
  void Execute(Session&) override { calls_.push_back("run " + name_); }

 private:
  std::string name_;
  Calls& calls_;
};

PluginKind KindOf(const std::string& name, Calls& calls) {
  return {[name, &calls](const PluginArgs& args, const Config&) -> Result<std::unique_ptr<Plugin>> {
            const int64_t size = TRY(args.Int("size", 1, 1, 3));
            calls.push_back(fmt::format("make {} {}", name, size));
            return std::make_unique<Witness>(name, calls);
          },
          {{"size", ArgType::kInt}},
          {"jobOrder"}};
}

Registry TwoPlugins(Calls& calls) {
  Registry registry;
  for (const char* name : {"left", "right"}) registry.plugins.emplace(name, KindOf(name, calls));
  for (const char* name : {"first", "second"})
    registry.actions.emplace(name, [name, &calls] { return std::make_unique<Step>(name, calls); });
  return registry;
}

Registry WholeRegistry() {
  Registry registry;
  plugins::AddAllPlugins(registry);
  actions::AddAllActions(registry);
  return registry;
}

TEST(Registry, KnowsTheNamesArgumentsAndCallbacksOfWhatItHolds) {
  Calls calls;
  const KnownNames known = TwoPlugins(calls).Known();
  ASSERT_EQ(known.plugins.size(), 2u);
  EXPECT_EQ(known.plugins[0].name, "left");
  ASSERT_EQ(known.plugins[0].args.size(), 1u);
  EXPECT_EQ(known.plugins[0].args[0].name, "size");
  EXPECT_THAT(known.plugins[1].callbacks, ElementsAre("jobOrder"));
  EXPECT_THAT(known.actions, ElementsAre("first", "second"));
  EXPECT_THAT(calls, ElementsAre()) << "nothing is made by asking";
}

TEST(Engine, MakesPluginsOnceAndOpensAndClosesThemInTheOrderOfTheFile) {
  Calls calls;
  const Registry registry = TwoPlugins(calls);
  auto loaded = LoadConfig(
      "actions: [second, first]\nplugins: [{name: right, args: {size: 3}}, {name: left}]", "x",
      registry.Known());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  auto engine = Engine::Make(registry, std::move(loaded->config));
  ASSERT_TRUE(engine.has_value());
  EXPECT_THAT(std::exchange(calls, {}), ElementsAre("make right 3", "make left 1"));
  model::Cluster rows(std::make_shared<model::Names>());
  for (uint64_t cycle = 1; cycle < 3; ++cycle) {
    (*engine)->Run(rows, Instant{}, cycle, nullptr);
    EXPECT_THAT(std::exchange(calls, {}), ElementsAre("open right", "open left", "run second",
                                                      "run first", "close right", "close left"));
  }
}

// Wants to be told every ten seconds.
class Controller final : public ReconcilablePlugin {
 public:
  explicit Controller(std::vector<WallTime>& told) : told_(told) {}
  std::string_view name() const override { return "controller"; }
  void OnSessionOpen(Session&) override { told_at_opening = told_.size(); }
  void Reconcile(WallTime now) override {
    told_.push_back(now);
    next_ = now + std::chrono::seconds(10);
  }
  std::optional<WallTime> NextReconcile() const override { return next_; }
  static size_t opened_after() { return told_at_opening; }

 private:
  std::vector<WallTime>& told_;
  std::optional<WallTime> next_ = WallTime(std::chrono::seconds(100));
  inline static size_t told_at_opening = 0;
};

TEST(Engine, AControllerIsToldOfTimeWhenItsMomentHasComeBeforeTheSessionOpens) {
  Calls calls;
  std::vector<WallTime> told;
  Registry registry = TwoPlugins(calls);
  registry.plugins.emplace(
      "controller",
      PluginKind{[&](const PluginArgs&, const Config&) -> Result<std::unique_ptr<Plugin>> {
                   return std::make_unique<Controller>(told);
                 },
                 {},
                 {}});
  auto engine = Engine::Make(registry, DefaultConfig(registry.Known()));
  ASSERT_TRUE(engine.has_value());
  model::Cluster rows(std::make_shared<model::Names>());
  const auto at = [](int seconds) { return WallTime(std::chrono::seconds(seconds)); };
  const auto run = [&](int seconds) {
    return (*engine)->Run(rows, Instant{at(seconds), {}}, 1, nullptr).next_reconcile;
  };
  EXPECT_EQ(run(99), at(100));
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(run(103), at(113));
  EXPECT_EQ(Controller::opened_after(), 1u);
  EXPECT_EQ(run(112), at(113));
  EXPECT_EQ(run(113), at(123));
  EXPECT_THAT(told, ElementsAre(at(103), at(113)));
}

TEST(Engine, APluginThatRefusesItsArgumentsStopsTheStartWhereTheyStand) {
  Calls calls;
  const Registry registry = TwoPlugins(calls);
  auto loaded =
      LoadConfig("plugins:\n- name: left\n  args:\n    size: 4\n", "sched.yaml", registry.Known());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  const auto engine = Engine::Make(registry, std::move(loaded->config));
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().message(),
            "sched.yaml:4:11: plugin 'left': 'size': must be from 1 to 3, not 4");
}

TEST(Engine, ANameThatTheRegistryLacksIsRefused) {
  Calls calls;
  const Registry registry = TwoPlugins(calls);
  Config config = DefaultConfig(registry.Known());
  config.plugins.push_back({"third", PluginArgs()});
  EXPECT_THAT(Engine::Make(registry, config).error().message(), HasSubstr("\"third\""));
  config.plugins.pop_back();
  config.actions.push_back("last");
  EXPECT_THAT(Engine::Make(registry, config).error().message(), HasSubstr("\"last\""));
}

// Warnings are made of these tables, so a plugin registers exactly what its table says.
TEST(AllPlugins, RegisterWhatTheirTablesSay) {
  const Registry registry = WholeRegistry();
  for (const auto& [name, kind] : registry.plugins) {
    Cluster cluster;
    const Config& config = cluster.engine().config();
    auto plugin = kind.make(PluginArgs(name, "x", Tree::Map({})), config);
    ASSERT_TRUE(plugin.has_value()) << name;
    EXPECT_EQ((*plugin)->name(), name);
    Session::Kept kept;
    Session session(cluster.snapshot(), config, Instant{}, 1, nullptr, kept);
    (*plugin)->OnSessionOpen(session);
    session.CompileExpressions();
    std::set<std::string> registers;
    for (const auto& [callback, program] : kept.programs)
      if (!program.first.empty()) {
        registers.insert(callback);
        EXPECT_THAT(program.first, ElementsAre(name)) << callback;
      }
    EXPECT_EQ(registers, std::set<std::string>(kind.callbacks.begin(), kind.callbacks.end()))
        << name;
    for (const std::string& callback : kind.callbacks)
      EXPECT_TRUE(FindCallback(callback).has_value()) << callback;
  }
}

// Every plugin of this build has its say under the default expressions.
TEST(AllPlugins, TakePartInTheDefaultExpressions) {
  const Registry registry = WholeRegistry();
  for (const Callback& callback : AllCallbacks()) {
    const auto expression = expr::Parse(callback.expression);
    ASSERT_TRUE(expression.has_value());
    std::set<std::string> named;
    expr::ForEachName(*expression, [&](const expr::Expression& one) { named.insert(one.name); });
    if (expr::MentionsAll(*expression)) continue;
    for (const auto& [name, kind] : registry.plugins) {
      if (std::ranges::count(kind.callbacks, callback.name) == 0) continue;
      EXPECT_TRUE(named.contains(name)) << name << " in " << callback.name;
    }
  }
}

struct Refused {
  std::string yaml, says;
};

// The same errors as people get them from this build.
TEST(AllPlugins, AndEverythingElseIsRefusedAtItsLineAndColumn) {
  const Registry registry = WholeRegistry();
  const std::vector<Refused> bads = {
      {"plugin: []", "s.yaml:1:1: unknown key 'plugin'; did you mean 'plugins'?"},
      {"plugins:\n- name: gang\n- name: topolgy\n",
       "s.yaml:3:9: 'plugins': unknown plugin 'topolgy'; did you mean 'topology'?"},
      {"plugins: [{name: binpack, args: {weight: 2}}]",
       "s.yaml:1:34: plugin 'binpack' has no argument 'weight'"},
      {"plugins: [{name: binpack, args: {resources: [cpu]}}]",
       "s.yaml:1:45: plugin 'binpack': 'resources': must be a map from names to integers, not a "
       "list"},
      {"plugins: [{name: gang, args: {min: 2}}]",
       "s.yaml:1:31: plugin 'gang' has no argument 'min'"},
      {"actions:\n- allocateJob\n- alocateZone\n",
       "s.yaml:3:3: 'actions': unknown action 'alocateZone'; did you mean 'allocateZone'?"},
      {"expressions:\n  jobReady: xor(gang)\n",
       "s.yaml:2:13: 'jobReady': 'xor' is no operator; did you mean 'or'?"},
      {"expressions:\n  jobReady: and(gang, nad(gang))\n",
       "s.yaml:2:23: 'jobReady': 'nad' is no operator; did you mean 'and'?"},
      {"expressions:\n  quotaReady: sum(gang, quotapredicates)\n",
       "s.yaml:2:15: 'quotaReady': 'sum' can't combine values of the kind bool; these can: and, "
       "or"},
      {"expressions:\n  quotaToNode.nOrder: sum(topology*-1)\n", "s.yaml:2:36: "},
      {"expressions:\n  quotaToNode.nOrder: sum(topology*2.0001)\n",
       "s.yaml:2:36: 'quotaToNode.nOrder': '2.0001' is finer than a thousandth"},
      {"expressions:\n  quotaToNode.predicate: joint(predicates, quotapredicate)\n",
       "s.yaml:2:44: 'quotaToNode.predicate': unknown plugin 'quotapredicate'; did you mean "
       "'quotapredicates'?"},
  };
  for (const Refused& bad : bads) {
    const auto loaded = LoadConfig(bad.yaml, "s.yaml", registry.Known());
    ASSERT_FALSE(loaded.has_value()) << bad.yaml;
    EXPECT_THAT(loaded.error().message(), HasSubstr(bad.says)) << bad.yaml;
  }
}

}  // namespace
}  // namespace sky::framework
