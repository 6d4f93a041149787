// SPDX-License-Identifier: Apache-2.0
#include "plugins/rescheduling/rescheduling.h"

#include <algorithm>

#include "framework/session.h"
#include "model/begin.h"
#include "plugins/rescheduling/strategies.h"

namespace sky::plugins {

using framework::Session;
using model::NodeId;
using model::TaskId;

namespace {

// Who was asked is forgotten when no pod of its controller was seen for so many intervals.
constexpr int kRemember = 12;

std::string ControllerOf(const model::Task& task) {
  const api::OwnerReference* controller = task.facts->meta().Controller();
  return controller == nullptr ? "" : controller->uid;
}

bool PassesWithRoom(const model::Verdict& verdict) {
  switch (verdict.reason) {
    case model::Reason::kInsufficientIdle:
    case model::Reason::kSpotPoolFull:
    case model::Reason::kPodSlotsFull:
    case model::Reason::kEarmarkedForOther:
      return true;
    default:
      return verdict.fit();
  }
}

// A spot pod that waits for room. One that may not begin, or for which no node is right, doesn't.
bool SpotPodsWait(const Session& session) {
  const model::Cluster& cluster = session.cluster();
  std::map<model::ClassId, bool> wants_room;
  const auto waits = [&](TaskId id) {
    const model::Task& task = cluster.tasks()[id];
    if (!task.placeable()) return false;
    const auto [at, first] = wants_room.try_emplace(task.facts->task_class, false);
    for (size_t i = 0; first && i < cluster.nodes().size() && !at->second; ++i)
      at->second = cluster.nodes()[model::NodeId(i)].exists() &&
                   PassesWithRoom(session.task_to_node.Alone(id, model::NodeId(i)));
    return at->second;
  };
  return std::ranges::any_of(cluster.waiting_jobs(), [&](model::JobId id) {
    const model::Job& job = cluster.jobs()[id];
    return job.spot && job.placeable > 0 && model::BarsOf(cluster, job).empty() &&
           std::ranges::any_of(job.ranked, waits);
  });
}

}  // namespace

void Rescheduling::OnSessionOpen(Session& session) {
  if (!options_.on()) return;
  if (!due_) due_ = session.now().wall + options_.interval;
  levels_.clear();
  for (const auto& [name, percents] : options_.balance)
    levels_.push_back(
        {session.cluster().names().resources.Intern(name), percents.low, percents.target});
  session.keep_for_last = [this, &session](model::JobId job, std::set<NodeId>& nodes) {
    KeepForLast(session, job, nodes);
  };
}

void Rescheduling::Reconcile(WallTime now) {
  looks_ = true;
  due_ = now + options_.interval;
}

// Spot pods: nodes that they would make too full, and nodes that are kept for somebody.
void Rescheduling::KeepForLast(const Session& session, model::JobId id,
                               std::set<NodeId>& nodes) const {
  const model::Cluster& cluster = session.cluster();
  const model::Job& job = cluster.jobs()[id];
  const auto first = std::ranges::find_if(
      job.ranked, [&](TaskId task) { return cluster.tasks()[task].placeable(); });
  if (!job.spot || first == job.ranked.end()) return;
  const model::Resources uses = cluster.tasks()[*first].facts->uses();
  for (size_t i = 0; i < cluster.nodes().size(); ++i) {
    const NodeId node(i);
    if (!cluster.nodes().Live(node)) continue;
    const model::Node& row = cluster.nodes()[node];
    if ((options_.clear_earmarks && session.earmarks().On(node)) ||
        (Offers(row, levels_) && AboveTarget(row, levels_, Present(row) + uses)))
      nodes.insert(node);
  }
}

// Controllers of whose pods one was made after they were asked, and stands where they stood.
std::set<Rescheduling::Where> Rescheduling::CameBack(const Session& session) {
  std::set<Where> back;
  if (asked_.empty()) return back;
  const model::Cluster& cluster = session.cluster();
  const WallTime now = session.now().wall;
  std::map<std::string, std::map<std::string, WallTime>> newest;  // by controller, then node
  for (size_t i = 0; i < cluster.tasks().size(); ++i) {
    const TaskId id(i);
    if (!cluster.tasks().Live(id)) continue;
    const model::Task& task = cluster.tasks()[id];
    const std::string controller = ControllerOf(task);
    if (controller.empty()) continue;
    auto& nodes = newest[controller];
    if (!task.holds_room()) continue;
    WallTime& made = nodes[cluster.nodes()[task.node].name];
    made = std::max(made, task.facts->meta().creation_timestamp.at.value_or(now));
  }
  for (auto& [where, asked] : asked_) {
    const auto known = newest.find(where.first);
    if (known == newest.end()) continue;
    asked.seen = now;
    const auto there = known->second.find(where.second);
    // Objects are stamped in whole seconds.
    if (there != known->second.end() &&
        there->second >= std::chrono::floor<std::chrono::seconds>(asked.at))
      back.insert(where);
  }
  std::erase_if(asked_, [&](const auto& entry) {
    return now - entry.second.seen > kRemember * options_.interval;
  });
  return back;
}

void Rescheduling::OnSessionClose(Session& session) {
  const model::Cluster& cluster = session.cluster();
  if (!std::exchange(looks_, false) || session.unfinished() || SpotPodsWait(session)) return;
  const std::set<Where> back = CameBack(session);
  Moves moves(session, levels_, [&](TaskId id) {
    const model::Task& task = cluster.tasks()[id];
    return back.contains({ControllerOf(task), cluster.nodes()[task.node].name});
  });
  if (options_.clear_earmarks) ClearEarmarks(session, moves);
  const size_t cleared = moves.planned().size();
  if (!levels_.empty()) Balance(session, levels_, moves);
  Ask(session, moves, 0, cleared, "moves, since places are kept for a gang");
  Ask(session, moves, cleared, moves.planned().size(), "moves, since too much is used");
}

void Rescheduling::Ask(Session& session, const Moves& moves, size_t first, size_t last,
                       const std::string& why) {
  const model::Cluster& cluster = session.cluster();
  cache::Eviction eviction;
  eviction.why = why;
  for (size_t i = first; i < last; ++i) {
    const Move& move = moves.planned()[i];
    eviction.victims.push_back(cache::VictimOf(cluster, move.task));
    const WallTime now = session.now().wall;
    asked_.try_emplace({ControllerOf(cluster.tasks()[move.task]), eviction.victims.back().node},
                       Asked{now, now});
  }
  if (!eviction.victims.empty()) session.evictions.push_back(std::move(eviction));
}

namespace {

using framework::PluginArgs;
using framework::Tree;
using Options = Rescheduling::Options;

// "name: 20" for each resource, whole percents.
Result<std::map<std::string, int64_t>> ReadPercents(const PluginArgs& args, const Tree& params,
                                                    std::string_view key) {
  const Tree* given = params.Find(key);
  const auto wrong = [&](std::string_view what) {
    return std::unexpected(args.Wrong("strategies", fmt::format("'{}' {}", key, what)));
  };
  if (given == nullptr) return wrong("is missing: percents by resource, {cpu: 20} for example");
  auto percents = framework::AsInts(*given);
  if (!percents) return wrong(percents.error().message());
  if (percents->empty()) return wrong("names no resource");
  for (const auto& [name, percent] : *percents)
    if (percent < 0 || percent > 100)
      return wrong(fmt::format("of {} must be from 0 to 100, not {}", name, percent));
  return *percents;
}

Status ReadBalance(const PluginArgs& args, const Tree& params, Options& options) {
  const auto low = TRY(ReadPercents(args, params, "thresholds"));
  const auto target = TRY(ReadPercents(args, params, "targetThresholds"));
  for (const auto& [name, percent] : target) {
    const auto found = low.find(name);
    if (found == low.end() || low.size() != target.size())
      return std::unexpected(args.Wrong(
          "strategies", "'thresholds' and 'targetThresholds' must name the same resources"));
    if (found->second > percent)
      return std::unexpected(
          args.Wrong("strategies", fmt::format("the threshold of {} ({}) is above its target ({})",
                                               name, found->second, percent)));
    options.balance[name] = {found->second, percent};
  }
  return {};
}

Status ReadStrategy(const PluginArgs& args, const Tree& given, Options& options) {
  static const Tree kNone = Tree::Map({});
  const auto wrong = [&](const std::string& what) {
    return std::unexpected(args.Wrong("strategies", what));
  };
  const Tree* name = given.Find("name");
  const Tree* params = given.Find("params");
  if (given.kind != Tree::Kind::kMap || name == nullptr)
    return wrong("each needs a name, as in [{name: clearEarmarks}]");
  for (const auto& entry : given.map)
    if (entry.key != "name" && entry.key != "params")
      return wrong(fmt::format("unknown key '{}'; a strategy has name and params", entry.key));
  if (params == nullptr) params = &kNone;
  if (params->kind != Tree::Kind::kMap)
    return wrong(fmt::format("'params' must be a map, not {}", framework::Describe(*params)));
  const bool balance = name->text == "lowNodeUtilization";
  if (!balance && name->text != "clearEarmarks")
    return wrong(fmt::format("'{}' is no strategy; there are lowNodeUtilization and clearEarmarks",
                             name->text));
  if (balance ? !options.balance.empty() : options.clear_earmarks)
    return wrong(fmt::format("'{}' is listed twice", name->text));
  for (const auto& entry : params->map)
    if (!balance || (entry.key != "thresholds" && entry.key != "targetThresholds"))
      return wrong(fmt::format("'{}' has no parameter '{}'", name->text, entry.key));
  if (balance) return ReadBalance(args, *params, options);
  options.clear_earmarks = true;
  return {};
}

Result<Options> ReadOptions(const PluginArgs& args) {
  Options options;
  options.interval = TRY(args.Time("interval", options.interval));
  if (options.interval < std::chrono::seconds(1))
    return std::unexpected(args.Wrong("interval", "must be at least 1s"));
  const Tree* given = args.Find("strategies");
  if (given == nullptr) return options;
  if (given->kind != Tree::Kind::kList)
    return std::unexpected(args.Wrong(
        "strategies", fmt::format("must be a list such as [{{name: clearEarmarks}}], not {}",
                                  framework::Describe(*given))));
  for (const Tree& strategy : given->list) TRY(ReadStrategy(args, strategy, options));
  return options;
}

}  // namespace

framework::PluginKind Rescheduling::Kind() {
  return {[](const PluginArgs& args,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<Rescheduling>(TRY(ReadOptions(args)));
          },
          {{"interval", framework::ArgType::kDuration}, {"strategies", framework::ArgType::kTree}},
          {}};
}

}  // namespace sky::plugins
