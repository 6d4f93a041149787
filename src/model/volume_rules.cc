// SPDX-License-Identifier: Apache-2.0
#include "model/volume_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "api/keys.h"
#include "api/selectors.h"

namespace sky::model {
namespace {

namespace key = api::key;

using Wanted = api::PersistentVolumeClaim;
using Volume = api::PersistentVolume;

constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
// Of volumes and of nodes; the older names of volumes mean the newer ones of nodes too.
struct ZoneLabel {
  std::string_view name, newer;
};
constexpr ZoneLabel kZoneLabels[] = {
    {"topology.kubernetes.io/zone", ""},
    {"topology.kubernetes.io/region", ""},
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
};

bool Has(const std::vector<std::string>& list, std::string_view value) {
  return std::ranges::find(list, value) != list.end();
}

bool OneOf(std::string_view list, std::string_view value) {  // "a__b"
  for (;;) {
    const size_t end = list.find("__");
    if (list.substr(0, end) == value) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + 2);
  }
}

bool InZone(const Volume& volume, const api::StringMap& node) {
  if (std::ranges::none_of(kZoneLabels, [&](const auto& one) { return node.contains(one.name); }))
    return true;
  return std::ranges::all_of(kZoneLabels, [&](const ZoneLabel& label) {
    const auto wanted = volume.metadata.labels.find(label.name);
    if (wanted == volume.metadata.labels.end()) return true;
    auto has = node.find(label.name);
    if (has == node.end() && !label.newer.empty()) has = node.find(label.newer);
    return has != node.end() && OneOf(wanted->second, has->second);
  });
}

const Wanted* Find(const Volumes& volumes, const PodClaim& claim) {
  return volumes.FindClaimObject(claim.key);
}

api::Quantity AskedBy(const Wanted& claim) {
  const auto found = claim.spec.resources.requests.find("storage");
  return found == claim.spec.resources.requests.end() ? api::Quantity() : found->second;
}

api::Quantity SizeOf(const Volume& volume) {
  const auto found = volume.spec.capacity.find("storage");
  return found == volume.spec.capacity.end() ? api::Quantity() : found->second;
}

std::string_view ModeOf(std::string_view mode) { return mode.empty() ? "Filesystem" : mode; }

// Apart from node and size.
bool Suits(const Volume& volume, const Wanted& claim, bool reserved) {
  const auto attributes = [](const auto& spec) {
    return spec.volume_attributes_class_name.value_or("");
  };
  if (volume.metadata.deleting() || StorageClassOf(volume) != StorageClassOf(claim) ||
      ModeOf(volume.spec.volume_mode) != ModeOf(claim.spec.volume_mode) ||
      attributes(volume.spec) != attributes(claim.spec) || SizeOf(volume) < AskedBy(claim))
    return false;
  if (reserved) return true;
  return std::ranges::all_of(
             claim.spec.access_modes,
             [&](const std::string& mode) { return Has(volume.spec.access_modes, mode); }) &&
         (!claim.spec.selector || api::Matches(*claim.spec.selector, volume.metadata.labels));
}

bool IsFor(const Volume& volume, const Wanted& claim) {
  const auto& reference = volume.spec.claim_ref;
  return reference && reference->name == claim.metadata.name &&
         reference->namespace_ == claim.metadata.namespace_ &&
         (reference->uid.empty() || reference->uid == claim.metadata.uid);
}

// The one that says it is the claim's, else the smallest that is free; absent: neither.
const Volume* VolumeFor(const Volumes& volumes, const Wanted& claim, const Node& node,
                        const std::set<std::string>& taken, bool& elsewhere) {
  if (const auto* names = volumes.ReservedFor(claim.metadata.Key()); names != nullptr)
    for (const std::string& name : *names) {
      const Volume* volume = volumes.FindVolume(name);
      if (!IsFor(*volume, claim) || !Suits(*volume, claim, true)) continue;
      elsewhere = !Reaches(*volume, node, false);
      return elsewhere ? nullptr : volume;
    }
  const Volume* best = nullptr;
  const auto consider = [&](const Volume& volume) {
    if (taken.contains(volume.metadata.name)) return;
    const bool smaller =
        best == nullptr || SizeOf(volume) < SizeOf(*best) ||
        (!(SizeOf(*best) < SizeOf(volume)) && volume.metadata.name < best->metadata.name);
    if (smaller && Suits(volume, claim, false) && Reaches(volume, node, false)) best = &volume;
  };
  volumes.EachFree(StorageClassOf(claim),
                   std::string(node.object->metadata.Label("kubernetes.io/hostname")), consider);
  return best;
}

bool MayProvision(const Volumes& volumes, const Wanted& claim, const Node& node) {
  const api::StorageClass* made = volumes.FindClass(StorageClassOf(claim));
  if (made == nullptr || made->provisioner.empty() || made->provisioner == kNoProvisioner)
    return false;
  const auto& terms = made->allowed_topologies;
  const auto admits = [&](const api::TopologySelectorTerm& term) {
    return !term.match_label_expressions.empty() &&
           std::ranges::all_of(term.match_label_expressions, [&](const auto& one) {
             const auto label = node.object->metadata.labels.find(one.key);
             return label != node.object->metadata.labels.end() && Has(one.values, label->second);
           });
  };
  return terms.empty() || std::ranges::any_of(terms, admits);
}

// Late claims, smallest first.
std::vector<const Wanted*> LateClaims(const Volumes& volumes, const PodFacts& facts) {
  std::vector<const Wanted*> late;
  for (const PodClaim& claim : facts.claims)
    if (StateOf(volumes, facts, claim) == ClaimState::kLate) late.push_back(Find(volumes, claim));
  std::ranges::sort(late, [](const Wanted* a, const Wanted* b) {
    if (const auto order = AskedBy(*a) <=> AskedBy(*b); order != 0) return order < 0;
    return a->metadata.name < b->metadata.name;
  });
  return late;
}

// Its driver and a name that two pods on one volume share; {"", ""}: no driver counts it.
std::pair<std::string, std::string> Attached(const Volumes& volumes, const Wanted& claim) {
  if (const Volume* volume = volumes.FindVolume(claim.spec.volume_name); volume != nullptr)
    return volume->spec.csi ? std::pair(volume->spec.csi->driver, volume->spec.csi->volume_handle)
                            : std::pair(std::string(), std::string());
  const api::StorageClass* made = volumes.FindClass(StorageClassOf(claim));
  if (made == nullptr) return {};
  return {made->provisioner, claim.metadata.Key()};
}

void AddAttached(const Cluster& cluster, TaskId task,
                 std::set<std::pair<std::string, std::string>>& attached) {
  for (const PodClaim& claim : cluster.tasks()[task].facts->claims)
    if (const Wanted* object = Find(cluster.volumes(), claim); object != nullptr)
      if (auto one = Attached(cluster.volumes(), *object);
          !one.first.empty() && !one.second.empty())
        attached.insert(std::move(one));
}

Verdict WithinLimits(const Cluster& cluster, TaskId task, NodeId id,
                     const std::set<TaskId>& placed) {
  const Node& node = cluster.nodes()[id];
  const api::CSINode* limits = cluster.volumes().FindLimits(node.name);
  if (limits == nullptr) return Verdict::Fit();
  std::set<std::pair<std::string, std::string>> there, with;
  for (const TaskId other : node.tasks)
    if (other != task) AddAttached(cluster, other, there);
  for (const TaskId other : placed)
    if (other != task && cluster.PlaceOf(other) == id) AddAttached(cluster, other, there);
  with = there;
  AddAttached(cluster, task, with);
  for (const api::CsiNodeDriver& driver : limits->spec.drivers) {
    if (!driver.allocatable || !driver.allocatable->count) continue;
    const auto of_driver = [&](const auto& attached) {
      return std::ranges::count(attached, driver.name, [](const auto& one) { return one.first; });
    };
    const int64_t count = of_driver(with);
    if (count > of_driver(there) && count > *driver.allocatable->count)
      return Verdict::NotNow(Reason::kVolumeNotBound, count, *driver.allocatable->count);
  }
  return Verdict::Fit();
}

// Another pod that has the claim, or is about to; invalid: none.
TaskId UsedBy(const Cluster& cluster, const std::string& claim, TaskId task) {
  const VolumeClaim* row = cluster.volumes().FindClaim(claim);
  if (row == nullptr) return {};
  for (const TaskId other : row->users)
    if (other != task && !cluster.tasks()[other].facts->terminal && cluster.PlaceOf(other).valid())
      return other;
  return {};
}

// Do the volumes that are free go round, with the task's among those that others were given?
bool GoRound(const Cluster& cluster, TaskId task, const Node& node,
             const std::set<TaskId>& placed) {
  std::vector<TaskId> order;
  for (const TaskId other : placed)
    if (other != task && !cluster.tasks()[other].bound() && HasLateClaims(cluster, other))
      order.push_back(other);
  order.push_back(task);
  std::ranges::sort(order, [&](TaskId a, TaskId b) { return ChoosesBefore(cluster, a, b); });
  std::set<std::string> taken;
  std::vector<VolumeStep> steps;
  bool before = true;  // an earlier one that fails does so without us
  for (const TaskId one : order) {
    const Node& there = one == task ? node : cluster.nodes()[cluster.PlaceOf(one)];
    if (!there.exists()) continue;
    const bool had = ChooseVolumes(cluster, one, there, taken, steps);
    if (one == task) {
      if (!had) return false;
      before = false;
    } else if (!had && !before) {
      return false;
    }
  }
  return true;
}

std::string Called(const PodClaim& claim) {
  return "claim " + claim.key.substr(claim.key.find('/') + 1);
}

// "": bound, or ours to choose for.
std::string WhyNotReady(const Volumes& volumes, const PodFacts& facts, const PodClaim& named) {
  const Wanted* claim = Find(volumes, named);
  const std::string name = Called(named);
  switch (StateOf(volumes, facts, named)) {
    case ClaimState::kMissing:
      if (!volumes.unreadable().empty()) return fmt::format("{}: {}", name, volumes.unreadable());
      if (named.owned) return fmt::format("{} of its ephemeral volume isn't made yet", name);
      return fmt::format("{} doesn't exist", name);
    case ClaimState::kNotOwned:
      return fmt::format("{} isn't the pod's own, as that of an ephemeral volume must be", name);
    case ClaimState::kDeleting:
      return fmt::format("{} is being deleted", name);
    case ClaimState::kLost:
      return fmt::format("{} has lost its volume {}", name, claim->spec.volume_name);
    case ClaimState::kUnbound:
      return fmt::format("{} isn't bound to a volume yet", name);
    case ClaimState::kNoClass:
      return fmt::format("{} names storage class {}, which doesn't exist", name,
                         StorageClassOf(*claim));
    case ClaimState::kNoVolume:
      return fmt::format("{} is bound to volume {}, which doesn't exist", name,
                         claim->spec.volume_name);
    case ClaimState::kLate:
    case ClaimState::kBound:
      break;
  }
  return {};
}

std::string WhereItIs(const Volumes& volumes, const PodClaim& named) {
  const Wanted& claim = *Find(volumes, named);
  const std::string name = Called(named);
  const Volume* volume = volumes.FindVolume(claim.spec.volume_name);
  if (volume == nullptr) {
    const std::string_view node = claim.metadata.Annotation(key::kSelectedNode);
    return node.empty()
               ? fmt::format("there is no volume of class {} for {}", StorageClassOf(claim), name)
               : fmt::format("{} is tied to {}", name, node);
  }
  const std::vector<std::string> names = HostnamesOf(*volume);
  return names.size() == 1 && !names[0].empty()
             ? fmt::format("{} is tied to {} by volume {}", name, names[0], volume->metadata.name)
             : fmt::format("{} is on volume {}", name, volume->metadata.name);
}

}  // namespace

bool ForOnePod(const Wanted& claim) { return Has(claim.spec.access_modes, "ReadWriteOncePod"); }

ClaimState StateOf(const Volumes& volumes, const PodFacts& facts, const PodClaim& named) {
  const Wanted* claim = Find(volumes, named);
  if (claim == nullptr) return ClaimState::kMissing;
  if (claim->status.phase == "Lost") return ClaimState::kLost;
  if (claim->metadata.deleting()) return ClaimState::kDeleting;
  if (named.owned) {
    const api::OwnerReference* owner = claim->metadata.Controller();
    if (owner == nullptr || owner->uid != facts.meta().uid) return ClaimState::kNotOwned;
  }
  const bool complete = claim->metadata.annotations.contains(key::kBindCompleted);
  if (!claim->spec.volume_name.empty()) {
    if (!complete) return ClaimState::kUnbound;
    return volumes.FindVolume(claim->spec.volume_name) == nullptr ? ClaimState::kNoVolume
                                                                  : ClaimState::kBound;
  }
  const std::string name = StorageClassOf(*claim);
  const api::StorageClass* made = name.empty() ? nullptr : volumes.FindClass(name);
  if (made == nullptr) return name.empty() ? ClaimState::kUnbound : ClaimState::kNoClass;
  return made->volume_binding_mode == "WaitForFirstConsumer" ? ClaimState::kLate
                                                             : ClaimState::kUnbound;
}

bool Reaches(const Volume& volume, const Node& node, bool zones) {
  const api::StringMap& labels = node.object->metadata.labels;
  // A node's name says nothing here: kube-scheduler asks by labels alone.
  const auto admits = [&](const api::NodeSelectorTerm& term) {
    return term.match_expressions.empty()
               ? !term.match_fields.empty()
               : api::MatchesNodeTerm({term.match_expressions, {}}, "", labels);
  };
  const auto& affinity = volume.spec.node_affinity;
  const bool admitted = !affinity || !affinity->required ||
                        std::ranges::any_of(affinity->required->node_selector_terms, admits);
  return admitted && (!zones || InZone(volume, labels));
}

bool ClaimsReady(const Cluster& cluster, TaskId task) {
  const PodFacts& facts = *cluster.tasks()[task].facts;
  return std::ranges::all_of(facts.claims, [&](const PodClaim& claim) {
    const ClaimState state = StateOf(cluster.volumes(), facts, claim);
    return state == ClaimState::kBound || state == ClaimState::kLate;
  });
}

bool HasLateClaims(const Cluster& cluster, TaskId task) {
  const PodFacts& facts = *cluster.tasks()[task].facts;
  return std::ranges::any_of(facts.claims, [&](const PodClaim& claim) {
    return StateOf(cluster.volumes(), facts, claim) == ClaimState::kLate;
  });
}

bool ChoosesBefore(const Cluster& cluster, TaskId a, TaskId b) {
  const auto order = [&](TaskId id) {
    const uint64_t round = cluster.tasks()[id].claim.round;
    return std::tuple(round == 0, round, id);
  };
  return order(a) < order(b);
}

bool ChooseVolumes(const Cluster& cluster, TaskId task, const Node& node,
                   std::set<std::string>& taken, std::vector<VolumeStep>& steps) {
  const Volumes& volumes = cluster.volumes();
  for (const Wanted* claim : LateClaims(volumes, *cluster.tasks()[task].facts)) {
    const std::string_view selected = claim->metadata.Annotation(key::kSelectedNode);
    if (!selected.empty() && selected != node.name) return false;
    VolumeStep step{claim->metadata.Key(), ""};
    bool elsewhere = false;
    const Volume* volume =
        selected.empty() ? VolumeFor(volumes, *claim, node, taken, elsewhere) : nullptr;
    if (volume != nullptr)
      taken.insert(step.volume = volume->metadata.name);
    else if (elsewhere || !MayProvision(volumes, *claim, node))
      return false;
    steps.push_back(std::move(step));
  }
  return true;
}

Verdict VolumesOn(const Cluster& cluster, TaskId task, NodeId id, const std::set<TaskId>& placed) {
  const Verdict refused = Verdict::NotNow(Reason::kVolumeNotBound);
  const PodFacts& facts = *cluster.tasks()[task].facts;
  const Node& node = cluster.nodes()[id];
  if (facts.claims.empty()) return Verdict::Fit();
  if (!node.exists() || !ClaimsReady(cluster, task)) return refused;
  bool late = false;
  for (const PodClaim& named : facts.claims) {
    const Wanted& claim = *Find(cluster.volumes(), named);
    if (!named.owned && ForOnePod(claim) && UsedBy(cluster, named.key, task).valid())
      return refused;
    const Volume* volume = cluster.volumes().FindVolume(claim.spec.volume_name);
    late = late || volume == nullptr;
    if (volume != nullptr && !Reaches(*volume, node, !named.owned)) return refused;
  }
  if (late && !GoRound(cluster, task, node, placed)) return refused;
  return WithinLimits(cluster, task, id, placed);
}

std::string WhyVolumes(const Cluster& cluster, TaskId task) {
  const PodFacts& facts = *cluster.tasks()[task].facts;
  std::string where;
  for (const PodClaim& named : facts.claims) {
    if (std::string wrong = WhyNotReady(cluster.volumes(), facts, named); !wrong.empty())
      return wrong;
    if (!named.owned && ForOnePod(*Find(cluster.volumes(), named)))
      if (const TaskId other = UsedBy(cluster, named.key, task); other.valid())
        return fmt::format("{} is for one pod at a time, and {} uses it", Called(named),
                           cluster.tasks()[other].facts->meta().name);
    if (where.empty()) where = WhereItIs(cluster.volumes(), named);
  }
  return where;
}

}  // namespace sky::model
