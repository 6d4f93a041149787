// SPDX-License-Identifier: Apache-2.0
// Statements that look: tables of what the API holds (ledgers: of what the scheduler makes of it),
// reasons, and expectations.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/keys.h"
#include "base/natural.h"
#include "lab/scenario.h"
#include "lab/text_table.h"
#include "model/zone_text.h"

namespace sky::lab {
namespace {

namespace key = api::key;

std::string ShortName(const std::string& resource) {
  const std::string_view known = resource == "nvidia.com/gpu"           ? "gpu"
                                 : resource == "infini-ai.com/spot-gpu" ? "spot"
                                                                        : std::string_view();
  if (!known.empty()) return std::string(known);
  return resource.starts_with("rdma/") ? resource.substr(5) : resource;
}

std::string Amounts(const api::ResourceList& amounts) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : amounts)
    parts.push_back(fmt::format("{}={}", ShortName(name), amount.ToString()));
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, " "));
}

// Devices: what isn't cpu, memory, a pod slot or storage.
bool IsDevice(std::string_view name) { return name.find('/') != std::string_view::npos; }

template <class T>
std::vector<T> Sorted(std::vector<T> items) {
  std::ranges::sort(items, [](const T& a, const T& b) {
    if (a.metadata.namespace_ != b.metadata.namespace_)
      return NaturalLess{}(a.metadata.namespace_, b.metadata.namespace_);
    return NaturalLess{}(a.metadata.name, b.metadata.name);
  });
  return items;
}

// Names of the namespace default stand alone.
std::string Named(const api::ObjectMeta& meta) {
  return meta.namespace_.empty() || meta.namespace_ == "default" ? meta.name : meta.Key();
}

std::string ConditionsText(const std::vector<api::Condition>& conditions) {
  std::vector<std::string> parts;
  for (const api::Condition& condition : conditions)
    parts.push_back(condition.reason.empty() ? condition.type
                                             : condition.type + ":" + condition.reason);
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string ShowQuotas(Simulation& simulation) {
  std::vector<TextRow> rows = {
      {"QUOTA", "QUEUE", "PHASE", "NODE", "REQUEST", "ALLOCATED", "TASKS"}};
  for (const api::Quota& quota : Sorted(simulation.List<api::Quota>())) {
    std::vector<std::string> tasks;
    for (const api::QuotaTask& task : quota.status.tasks)
      tasks.push_back(task.namespace_ == "default" ? task.name : task.namespace_ + "/" + task.name);
    rows.push_back({quota.metadata.name, quota.spec.queue_name, quota.status.phase,
                    quota.status.node_name, Amounts(quota.spec.request),
                    Amounts(quota.status.allocated), fmt::format("{}", fmt::join(tasks, ","))});
  }
  return AlignedTable(rows);
}

std::string ShowPods(Simulation& simulation) {
  std::vector<TextRow> rows = {{"POD", "GROUP", "PHASE", "NODE", "QUOTA"}};
  for (const api::Pod& pod : Sorted(simulation.List<api::Pod>()))
    rows.push_back({Named(pod.metadata), std::string(pod.metadata.Annotation(key::kGroupName)),
                    pod.metadata.deleting() ? pod.status.phase + ", leaving" : pod.status.phase,
                    pod.spec.node_name, std::string(pod.metadata.Annotation(key::kQuotaName))});
  return AlignedTable(rows);
}

std::string ShowNodes(Simulation& simulation) {
  std::map<std::string, std::string> switches;
  for (const api::NodeTopology& topology : simulation.List<api::NodeTopology>())
    for (const auto& [network, nics] :
         {std::pair("roce", &topology.spec.net.roce), std::pair("ib", &topology.spec.net.ib)}) {
      std::vector<std::string> names;
      for (const api::TopologyNic& nic : *nics) names.push_back(model::SwitchText(nic.switch_name));
      if (!names.empty())
        switches[topology.metadata.name] = fmt::format("{}#{}", network, fmt::join(names, ","));
    }
  std::vector<TextRow> rows = {{"NODE", "STATUS", "SWITCHES", "SPEC", "DEVICES"}};
  for (const api::Node& node : Sorted(simulation.List<api::Node>())) {
    const api::Condition* ready = node.FindCondition("Ready");
    std::string status = ready != nullptr && ready->status == "True" ? "Ready" : "NotReady";
    if (node.spec.unschedulable) status += ",cordoned";
    api::ResourceList devices;
    for (const auto& [name, amount] : node.status.allocatable)
      if (IsDevice(name)) devices.emplace(name, amount);
    rows.push_back({node.metadata.name, status, switches[node.metadata.name],
                    std::string(node.metadata.Label("spec")), Amounts(devices)});
  }
  return AlignedTable(rows);
}

std::string ShowGroups(Simulation& simulation) {
  const std::vector<api::Pod> pods = simulation.List<api::Pod>();
  std::vector<TextRow> rows = {{"GROUP", "QUEUE", "MIN", "PLACED", "CONDITIONS"}};
  for (const api::PodGroup& group : Sorted(simulation.List<api::PodGroup>())) {
    const auto placed = std::ranges::count_if(pods, [&](const api::Pod& pod) {
      return pod.metadata.namespace_ == group.metadata.namespace_ &&
             pod.metadata.Annotation(key::kGroupName) == group.metadata.name &&
             !pod.spec.node_name.empty();
    });
    rows.push_back({Named(group.metadata), group.spec.queue, std::to_string(group.spec.min_member),
                    std::to_string(placed), ConditionsText(group.status.conditions)});
  }
  return AlignedTable(rows);
}

std::string ShowQueues(Simulation& simulation) {
  std::vector<TextRow> rows = {{"QUEUE", "WEIGHT", "PRIORITY", "PARENT", "STATE", "CAPABILITY"}};
  for (const api::Queue& queue : Sorted(simulation.List<api::Queue>()))
    rows.push_back({queue.metadata.name, std::to_string(queue.spec.weight),
                    std::to_string(queue.spec.priority), queue.spec.parent, queue.status.state,
                    Amounts(queue.spec.capability)});
  return AlignedTable(rows);
}

std::string ShowReserved(Simulation& simulation) {
  std::map<std::string, std::string> names;  // of pods, by UID
  for (const api::Pod& pod : simulation.List<api::Pod>())
    names[pod.metadata.uid] = Named(pod.metadata);
  std::vector<TextRow> rows = {{"QUOTA", "NODE", "JOB", "POD", "REQUEST", "ENDS", "SUCCESSOR"}};
  for (const api::Quota& quota : Sorted(simulation.List<api::Quota>()))
    for (const api::ReservedTask& kept : quota.status.reserved_tasks)
      rows.push_back(
          {quota.metadata.name, quota.status.node_name, kept.job, kept.pod, Amounts(kept.request),
           kept.expires.at ? "in " + FormatDuration(std::chrono::round<std::chrono::seconds>(
                                         *kept.expires.at - simulation.clock().Wall()))
                           : "",
           names[kept.successor_uid]});
  return AlignedTable(rows);
}

// Claims, what has become of them, and the node that was said to their provisioner.
std::string ShowVolumes(Simulation& simulation) {
  std::vector<TextRow> rows = {{"CLAIM", "STATUS", "VOLUME", "NODE"}};
  for (const auto& claim : Sorted(simulation.List<api::PersistentVolumeClaim>())) {
    // Volumes that are made on demand carry the claim's UID in their names.
    const std::string& volume = claim.spec.volume_name;
    rows.push_back({Named(claim.metadata), claim.status.phase,
                    volume.starts_with("pvc-") ? "(made)" : volume,
                    std::string(claim.metadata.Annotation(key::kSelectedNode))});
  }
  return AlignedTable(rows);
}

std::string ShowPlacements(Simulation& simulation) {
  std::vector<TextRow> rows = {{"PLACEMENT", "ROUND", "TASK", "QUOTA", "NODE", "ZONE"}};
  for (const api::Placement& placement : Sorted(simulation.List<api::Placement>())) {
    const api::PlacementSpec& spec = placement.spec;
    const auto at = [](const std::vector<std::string>& table, int32_t index) {
      return index >= 0 && static_cast<size_t>(index) < table.size()
                 ? table[static_cast<size_t>(index)]
                 : std::string();
    };
    if (spec.entries.empty())
      rows.push_back({Named(placement.metadata), std::to_string(spec.round), "", "", "", ""});
    for (const api::PlacementEntry& entry : spec.entries)
      rows.push_back({Named(placement.metadata), std::to_string(spec.round), entry.task,
                      at(spec.quotas, entry.quota), at(spec.nodes, entry.node),
                      at(spec.zones, entry.zone)});
  }
  return AlignedTable(rows);
}

// Names that stand in neither list are left out; `all`: cpu, memory and pod slots too.
std::string AmountsText(const model::Resources& amounts, const model::Resources& offered,
                        const model::Names& names, bool all) {
  std::vector<std::string> parts;
  std::set<model::ResourceId> either;
  for (const auto* some : {&amounts, &offered})
    for (const auto& [id, value] : *some) either.insert(id);
  for (const model::ResourceId id : either) {
    const std::string name(names.resources.Name(id));
    if (!IsDevice(name) && !all) continue;
    const api::Quantity amount =
        model::ResourceNames::InBytes(name)
            ? api::Quantity::Units(amounts[id], api::Quantity::Format::kBinarySI)
            : api::Quantity::Milli(amounts[id]);
    parts.push_back(fmt::format("{}={}", ShortName(name), amount.ToString()));
  }
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string ShowLedgers(scheduler::Scheduler& scheduler, bool all) {
  const model::Cluster cluster = scheduler.cache().Copy();
  std::vector<const model::Node*> nodes;
  for (size_t i = 0; i < cluster.nodes().size(); ++i)
    if (const model::Node& node = cluster.nodes()[model::NodeId(i)]; node.live)
      nodes.push_back(&node);
  std::ranges::sort(nodes, [](const model::Node* a, const model::Node* b) {
    return NaturalLess{}(a->name, b->name);
  });
  std::vector<TextRow> rows = {{"NODE", "ALLOCATABLE", "USED", "IDLE", "QUOTAIDLE"}};
  if (all) rows[0].push_back("FUTUREIDLE");
  for (const model::Node* node : nodes) {
    const auto text = [&](const model::Resources& amounts) {
      return AmountsText(amounts, node->allocatable, cluster.names(), all);
    };
    rows.push_back({node->exists() ? node->name : node->name + " (gone)", text(node->allocatable),
                    text(node->used), text(node->Idle()), text(node->QuotaIdle())});
    if (all) rows.back().push_back(text(node->FutureIdle()));
  }
  return AlignedTable(rows);
}

// The lines of `text` that `other` lacks.
std::string LinesOnlyOf(std::string_view text, std::string_view other) {
  const auto lines = [](std::string_view all) {
    std::vector<std::string_view> each;
    for (size_t end = 0; !all.empty(); all.remove_prefix(end + 1)) {
      end = std::min(all.find('\n'), all.size() - 1);
      each.push_back(all.substr(0, end + 1));
    }
    return each;
  };
  const std::vector<std::string_view> theirs = lines(other);
  const std::set<std::string_view> known(theirs.begin(), theirs.end());
  std::string own;
  for (const std::string_view line : lines(text))
    if (!known.contains(line)) own += line;
  return own;
}

// The cluster as a scheduler that starts now would remember it.
model::Cluster ReadAnew(Simulation& simulation, const framework::Config& config) {
  cache::Cache fresh(std::make_shared<model::Names>(), framework::SettingsOf(config));
  fresh.SetNow(simulation.clock().Now());
  const auto feed = [&]<class T>(std::vector<T> objects) {
    for (T& object : objects)
      fresh.Apply(api::Delta<T>{api::Delta<T>::Type::kAdd,
                                std::make_shared<const T>(std::move(object)), nullptr});
  };
  feed(simulation.List<api::PriorityClass>());
  feed(simulation.List<api::Queue>());
  feed(simulation.List<api::JobQueue>());
  feed(simulation.List<api::Node>());
  feed(simulation.List<api::NodeTopology>());
  feed(simulation.List<api::Quota>());
  feed(simulation.List<api::PodGroup>());
  feed(simulation.List<api::PodDisruptionBudget>());
  feed(simulation.List<api::Pod>());
  fresh.AdoptReservations();
  fresh.SetNow(simulation.clock().Now());  // what time tells of them, too
  model::Cluster rows(std::make_shared<model::Names>());
  fresh.UpdateSnapshot(rows);
  return rows;
}

// Everything but what time alone tells (a node is lost after a while).
std::string Facts(const model::Cluster& cluster) {
  std::string text = cluster.Dump();
  for (size_t at; (at = text.find("lost=true")) != std::string::npos;)
    text.replace(at, 9, "lost=false");
  return text;
}

}  // namespace

Scenario::Answer Scenario::Show(const Statement& statement) {
  const std::string& what = statement.names[0];
  const std::string more = statement.names.size() > 1 ? statement.names[1] : "";
  if (!more.empty() && (what != "ledgers" || more != "all"))
    return Fail(Code::kInvalid, "show {} doesn't know \"{}\"; there is: show ledgers all", what,
                more);
  if (what == "quotas") return ShowQuotas(*simulation_);
  if (what == "pods") return ShowPods(*simulation_);
  if (what == "nodes") return ShowNodes(*simulation_);
  if (what == "groups") return ShowGroups(*simulation_);
  if (what == "queues") return ShowQueues(*simulation_);
  if (what == "reserved") return ShowReserved(*simulation_);
  if (what == "volumes") return ShowVolumes(*simulation_);
  if (what == "placements") return ShowPlacements(*simulation_);
  if (what == "ledgers") {
    if (simulation_->scheduler() == nullptr)
      return Fail(Code::kInvalid, "the scheduler doesn't run: it keeps the ledgers");
    return ShowLedgers(*simulation_->scheduler(), !more.empty());
  }
  if (what != "events")
    return Fail(Code::kInvalid,
                "show knows quotas, reserved, pods, nodes, volumes, ledgers, placements, groups, "
                "queues and "
                "events, "
                "not \"{}\"",
                what);
  std::string text;
  for (; events_shown_ < simulation_->events.size(); ++events_shown_)
    text += simulation_->events[events_shown_] + "\n";
  return text.empty() ? "no new events\n" : text;
}

Scenario::Answer Scenario::Audit(const Statement&) {
  if (simulation_->scheduler() == nullptr)
    return Fail(Code::kInvalid, "the scheduler doesn't run: nothing to audit");
  scheduler::Scheduler& scheduler = *simulation_->scheduler();
  scheduler.cache().SetNow(simulation_->clock().Now());
  const std::string mine = Facts(scheduler.cache().Copy()),
                    fresh = Facts(ReadAnew(*simulation_, scheduler.config()));
  if (mine != fresh)
    return Fail(Code::kConflict, "a fresh start would read something else.\nmemory:\n{}API:\n{}",
                LinesOnlyOf(mine, fresh), LinesOnlyOf(fresh, mine));
  return "every ledger equals its recount, and what a fresh start would read\n";
}

}  // namespace sky::lab
