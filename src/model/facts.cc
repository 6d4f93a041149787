// SPDX-License-Identifier: Apache-2.0
#include "model/facts.h"

#include <algorithm>
#include <charconv>

#include "api/json.h"
#include "api/keys.h"
#include "api/pod_requests.h"
#include "api/selectors.h"
#include "base/natural.h"
#include "base/text.h"
#include "model/complain.h"
#include "model/pod_terms.h"
#include "model/quota_terms.h"

namespace sky::model {
namespace {

namespace key = api::key;

constexpr size_t kMaxName = 253;  // of whatever our objects repeat

// A label or, without one, the annotation of the same key.
std::string_view LabelOrAnnotation(const api::ObjectMeta& meta, std::string_view name) {
  const std::string_view label = meta.Label(name);
  return label.empty() ? meta.Annotation(name) : label;
}

// ASCII digits only, at most int64.
std::optional<int64_t> ParseIndex(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '-' || error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<int64_t> RankOf(const api::Pod& pod, std::string* problem) {
  if (const std::string_view own = LabelOrAnnotation(pod.metadata, key::kTaskIndex); !own.empty()) {
    if (const auto index = ParseIndex(own)) return index;
    Complain(problem, key::kTaskIndex, own,
             "a rank is a whole number from 0; the pod's name is used instead");
  }
  for (const std::string_view name :
       {"apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index",
        "training.kubeflow.org/replica-index"})
    if (const auto index = ParseIndex(LabelOrAnnotation(pod.metadata, name))) return index;
  return TrailingNumber(pod.metadata.name);
}

Grouping GroupingOf(const api::Pod& pod, const Settings& settings) {
  if (pod.spec.scheduler_name != settings.scheduler_name) return Grouping::kForeign;
  // A mirror pod stands for a static pod of a kubelet: counted, never placed.
  if (pod.metadata.annotations.contains("kubernetes.io/config.mirror")) return Grouping::kForeign;
  if (!pod.metadata.Annotation(key::kGroupName).empty()) return Grouping::kGroup;
  const api::OwnerReference* owner = pod.metadata.Controller();
  const auto& kinds = settings.grouped_owner_kinds;
  if (owner != nullptr && std::find(kinds.begin(), kinds.end(), owner->kind) != kinds.end())
    return Grouping::kAwaitsGroup;
  return Grouping::kSingle;
}

bool Asks(const Resources& request, const std::vector<std::string>& globs,
          const ResourceNames& names) {
  for (const auto& [id, value] : request) {
    if (value <= 0) continue;
    const std::string_view name = names.Name(id);
    for (const std::string& glob : globs)
      if (GlobMatches(glob, name)) return true;
  }
  return false;
}

// What terms about other pods read of the pod itself: its namespace, the labels that it shares with
// whom a constraint counts, and whether it is one of those that it asks for.
std::string ReadByOwnTerms(const api::Pod& pod) {
  std::string text = pod.metadata.namespace_;
  for (const api::PodAffinity* affinity : {AffinityOf(pod), AntiAffinityOf(pod)})
    if (affinity != nullptr)
      for (const api::PodAffinityTerm& term : affinity->required)
        text += PodTerm(term, pod.metadata.namespace_).Matches(pod.metadata) ? '1' : '0';
  for (const auto& constraint : pod.spec.topology_spread_constraints)
    text += fmt::format("|{}{}", PodTerm(constraint, pod.metadata).text(),
                        CountsItself(constraint, pod.metadata));
  return text;
}

// Equal tasks have equal text here: everything that a predicate or a tier reads. Labels and
// namespaces are read by pods' own terms alone, and would make a class of every job; what terms of
// others have against a pod isn't in it, so a predicate about that is never answered by class.
ClassId NodeClassOf(const PodFacts& facts, Names& names) {
  const api::Pod& pod = *facts.pod;
  api::PodSpec read;
  read.node_selector = pod.spec.node_selector;
  read.affinity = pod.spec.affinity;
  read.tolerations = pod.spec.tolerations;
  read.topology_spread_constraints = pod.spec.topology_spread_constraints;
  read.host_network = pod.spec.host_network;
  for (const auto* containers : {&pod.spec.containers, &pod.spec.init_containers})
    for (const api::Container& container : *containers) {
      api::Container& kept = read.containers.emplace_back();
      kept.ports = container.ports;
      kept.image = container.image;
    }
  api::Pod equal;
  equal.spec = std::move(read);
  std::string text = api::Encode(equal);
  for (const auto& [name, value] : facts.request)
    text += fmt::format("|{}={}", name.value(), value);
  if (HasPodTerms(pod)) text += fmt::format("|{}", ReadByOwnTerms(pod));
  for (const std::string_view note : {key::kRequiredMountPoints, key::kPodQuotaAffinity})
    text += fmt::format("|{}", pod.metadata.Annotation(note));
  text += fmt::format("|{}|{}", facts.required_quota, static_cast<int>(facts.spot));
  return names.classes.Intern(text);
}

// With the claims that they share; most pods have none.
ClassId TaskClassOf(const PodFacts& facts, Names& names) {
  if (facts.claims.empty()) return facts.node_class;
  std::string text = fmt::format("claims {}", facts.node_class.value());
  for (const PodClaim& claim : facts.claims)
    text += fmt::format("|{}{}", claim.owned ? "own " : "", claim.key);
  return names.classes.Intern(text);
}

// The claim of an ephemeral volume is named after its pod and itself.
std::vector<PodClaim> ClaimsOf(const api::Pod& pod) {
  std::vector<PodClaim> claims;
  const auto add = [&](const std::string& name, bool owned) {
    PodClaim claim{fmt::format("{}/{}", pod.metadata.namespace_, name), owned};
    if (std::ranges::find(claims, claim) == claims.end()) claims.push_back(std::move(claim));
  };
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.persistent_volume_claim) add(volume.persistent_volume_claim->claim_name, false);
    if (volume.ephemeral) add(fmt::format("{}-{}", pod.metadata.name, volume.name), true);
  }
  return claims;
}

// Groups are joined by the annotation alone; an owner that says something else would be missed.
void CheckOwners(const api::Pod& pod, PodFacts& facts) {
  const std::string_view group = pod.metadata.Annotation(key::kGroupName);
  for (const api::OwnerReference& owner : pod.metadata.owner_references)
    if (owner.kind == "PodGroup" && owner.name != group &&
        owner.api_version.starts_with(fmt::format("{}/", api::kGroup)))
      Complain(
          &facts.problem, key::kGroupName, group,
          fmt::format("PodGroup {} owns the pod too; the annotation alone decides whose member "
                      "it is",
                      owner.name));
}

void CheckNotes(const api::Pod& pod, PodFacts& facts) {
  const std::string_view quota = pod.metadata.Annotation(key::kQuotaName);
  if (quota.size() > kMaxName)
    Complain(&facts.problem, key::kQuotaName, quota, "a quota's name has at most 253 characters");
  const std::string_view inherit = pod.metadata.Annotation(key::kInheritResourceFrom);
  if (!inherit.empty() && (inherit == pod.metadata.name || inherit == pod.metadata.uid))
    Complain(&facts.problem, key::kInheritResourceFrom, inherit,
             "a pod can't inherit from itself; it is ignored");
  const std::string_view terms = pod.metadata.Annotation(key::kPodQuotaAffinity);
  if (terms.empty()) return;
  const auto read = ReadQuotaTerms(terms);
  facts.quota_terms = read.has_value();
  if (!read)
    Complain(&facts.problem, key::kPodQuotaAffinity, terms,
             fmt::format("{}; it is ignored", read.error().message()));
}

// A stranger's spot pod uses cards too; its notes are its own matter.
void ReadSpot(const api::Pod& pod, const Settings& settings, Names& names, PodFacts& facts) {
  for (const auto& [name, asked] : facts.request) {
    if (asked <= 0 || names.resources.Name(name) != settings.spot_resource) continue;
    facts.spot_resource = name;
    facts.spot_device = names.resources.Intern(settings.spot_device);
    std::string problem;
    facts.spot = SpotModeOf(pod.metadata, &problem);
    if (facts.grouping != Grouping::kForeign) facts.problem += problem;
    return;
  }
}

}  // namespace

std::shared_ptr<const PodFacts> MakePodFacts(std::shared_ptr<const api::Pod> pod,
                                             const Settings& settings, Names& names) {
  auto facts = std::make_shared<PodFacts>();
  const api::ObjectMeta& meta = pod->metadata;
  facts->pod = pod;
  facts->grouping = GroupingOf(*pod, settings);
  facts->request = FromList(api::PodRequests(*pod), names.resources);
  facts->request.Set(ResourceNames::kPods, 1000);
  facts->priority = pod->spec.priority.value_or(0);
  facts->gated = !pod->spec.scheduling_gates.empty();
  facts->terminal = pod->terminal();
  facts->deleting = meta.deleting();
  facts->node_name = pod->spec.node_name;
  facts->claims = ClaimsOf(*pod);
  ReadSpot(*pod, settings, names, *facts);
  if (facts->grouping == Grouping::kForeign) return facts;

  facts->role = std::string(LabelOrAnnotation(meta, key::kTaskRole));
  if (facts->role.empty())
    facts->role = std::string(meta.Label("training.kubeflow.org/replica-type"));
  if (facts->role.size() > kMaxName) {
    Complain(&facts->problem, key::kTaskRole, facts->role,
             "a role has at most 253 characters; it is ignored");
    facts->role.clear();
  }
  facts->index = RankOf(*pod, &facts->problem);
  // Whoever goes to a node without a quota uses none, whatever its notes say.
  if (!facts->direct()) facts->quota_name = std::string(meta.Annotation(key::kQuotaName));
  facts->required_quota = std::string(meta.Annotation(key::kRequiredQuota));
  const bool ib = Asks(facts->request, settings.ib_resources, names.resources);
  facts->needs_rdma = ib || Asks(facts->request, settings.roce_resources, names.resources);
  facts->network = ib ? Network::kIb : Network::kRoce;
  if (facts->grouping == Grouping::kSingle) facts->job_key = "pod:" + meta.Key();
  if (facts->grouping == Grouping::kGroup) {
    const std::string_view group = meta.Annotation(key::kGroupName);
    if (group.find('/') != std::string_view::npos)
      Complain(&facts->problem, key::kGroupName, group,
               "a pod joins a PodGroup of its own namespace, named without \"/\"");
    facts->job_key = fmt::format("{}/{}", meta.namespace_, group);
  }
  CheckOwners(*pod, *facts);
  CheckNotes(*pod, *facts);
  const api::Taint cordon{"node.kubernetes.io/unschedulable", "", "NoSchedule", {}};
  for (const api::Toleration& toleration : pod->spec.tolerations)
    facts->tolerates_cordon = facts->tolerates_cordon || api::Tolerates(toleration, cordon);
  facts->node_class = NodeClassOf(*facts, names);
  facts->task_class = TaskClassOf(*facts, names);
  return facts;
}

std::vector<std::string> PartsOf(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return parts;
}

std::vector<std::string> MountsOf(const api::Node& node, Duration tolerance) {
  constexpr std::string_view kPrefix = "infiniai-fs-";
  const api::Condition* ready = node.FindCondition("Ready");
  std::vector<std::string> mounts;
  if (ready == nullptr) return mounts;
  for (const api::Condition& condition : node.status.conditions) {
    if (!condition.type.starts_with(kPrefix) || condition.status != "True") continue;
    // Heard of since the node came back: what an earlier life of the machine had mounted is gone.
    const auto& beat = condition.last_heartbeat_time.at;
    const auto& since = ready->last_transition_time.at;
    if (since && (!beat || *beat <= *since - tolerance)) continue;
    InsertSorted(mounts, condition.type.substr(kPrefix.size()));
  }
  return mounts;
}

std::string StaticNodeOf(const api::Quota& quota) {
  if (!quota.spec.static_bind_node.empty()) return quota.spec.static_bind_node;
  const auto& fixed = quota.status.static_bind_status;
  return fixed ? fixed->node_name : std::string();
}

SpecId SpecOf(const api::StringMap& labels, const Settings& settings, Names& names) {
  const std::string* longest = nullptr;
  std::string_view value;
  for (const std::string& wanted : settings.spec_label_keys) {
    const auto found = labels.find(wanted);
    if (found == labels.end() || found->second.empty()) continue;
    if (longest != nullptr && longest->size() >= wanted.size()) continue;
    longest = &wanted;
    value = found->second;
  }
  return longest == nullptr ? SpecId{} : names.specs.Intern(value);
}

int64_t NodeIndexOf(const api::ObjectMeta& meta, std::string* problem) {
  if (const auto note = meta.annotations.find(key::kNodeIndex); note != meta.annotations.end()) {
    if (const auto index = ParseIndex(note->second)) return *index;
    Complain(problem, key::kNodeIndex, note->second,
             "an index is a whole number from 0; the name's number is used instead");
  }
  return TrailingNumber(meta.name).value_or(Node::kNoIndex);
}

Resources PodFacts::uses() const {
  if (spot != SpotMode::kExclusive) return request;
  Resources cards;
  cards.Set(spot_device, spot_asked());
  return request + cards;
}

JobNotes ReadJobNotes(const api::ObjectMeta& meta) {
  JobNotes notes;
  if (const auto found = meta.annotations.find(key::kEnableTopologyScheduling);
      found != meta.annotations.end()) {
    if (found->second == "true")
      notes.topology = TopologyMode::kStrict;
    else if (found->second == "false")
      notes.topology = TopologyMode::kOff;
    else
      Complain(&notes.problem, found->first, found->second,
               "use \"true\" or \"false\"; it is ignored");
  }
  if (const auto found = meta.annotations.find(key::kTopologyPlacement);
      found != meta.annotations.end()) {
    if (found->second == "pack")
      notes.pack = true;
    else if (found->second != "spread")
      Complain(&notes.problem, found->first, found->second,
               "use \"spread\" or \"pack\"; spread is used");
  }
  if (const auto found = meta.annotations.find(key::kMaxZones); found != meta.annotations.end()) {
    const auto zones = ParseIndex(found->second);
    if (zones && *zones >= 1)
      notes.max_zones = zones;
    else
      Complain(&notes.problem, found->first, found->second,
               "a whole number from 1 is wanted; it is ignored");
  }
  notes.task_order = PartsOf(meta.Annotation(key::kTaskOrder));
  notes.affinity_key = std::string(meta.Annotation(key::kTopologyAffinityKey));
  if (const auto found = meta.annotations.find(key::kReservationTTL);
      found != meta.annotations.end()) {
    const auto ttl = ParseDuration(found->second);
    if (ttl && *ttl >= Duration::zero())
      notes.reservation_ttl = *ttl;
    else
      Complain(&notes.problem, found->first, found->second,
               "a time such as 10m is wanted; the configuration's is used");
  }
  return notes;
}

// A key is a set of switch names: names may hold any character, so they are separated by one that
// can't stand in them. ZoneText() is what people read.
ZoneId ZoneOfSwitches(Network network, const std::vector<std::string>& switches, Names& names) {
  if (switches.empty()) return {};
  std::string text(network == Network::kIb ? "ib" : "roce");
  char separator = '#';
  for (const std::string& name : switches) {
    text += separator;
    text += name;
    separator = '\0';
  }
  return names.zones.Intern(text);
}

std::string_view ZoneOverrideOf(const api::ObjectMeta& meta, std::string* problem) {
  const auto note = meta.annotations.find(key::kRdmaTopologyKey);
  if (note == meta.annotations.end()) return {};
  if (!note->second.empty() && note->second.find_first_of(" \t\r\n") == std::string::npos)
    return note->second;
  Complain(problem, note->first, note->second,
           "a zone has a name without spaces; the switches decide instead");
  return {};
}

namespace {

NetWiring NetWiringOf(std::string_view network, const std::vector<api::TopologyNic>& nics,
                      const std::vector<api::TopologyTier>& tiers, Names& names) {
  NetWiring wiring;
  for (const api::TopologyNic& nic : nics) {
    if (nic.switch_name.empty()) continue;
    wiring.switches.push_back(nic.switch_name);
    if (nic.state == "Down") continue;
    wiring.live.push_back(nic.switch_name);
    ++wiring.rails;
  }
  for (auto* some : {&wiring.switches, &wiring.live}) {
    std::ranges::sort(*some);
    some->erase(std::unique(some->begin(), some->end()), some->end());
  }
  for (const api::TopologyTier& tier : tiers)
    if (tier.network == network && !tier.domain.empty())
      wiring.tiers.push_back({tier.level, names.zones.Intern(fmt::format(
                                              "{}/{}/{}", network, tier.level, tier.domain))});
  std::ranges::sort(wiring.tiers);
  return wiring;
}

// The domain of the lowest tier instead of the switches.
void TakeLeafGroup(std::string_view network, const std::vector<api::TopologyTier>& tiers,
                   NetWiring& wiring, Names& names) {
  for (const api::TopologyTier& tier : tiers)
    if (tier.network == network && tier.level == 1 && !tier.domain.empty())
      wiring.named = names.zones.Intern(fmt::format("{}/{}", network, tier.domain));
}

}  // namespace

NodeWiring WiringOf(const api::NodeTopology& topology, const api::ObjectMeta* node,
                    bool leaf_groups, Names& names, std::string* problem) {
  std::string ignored;  // the node tells of its own notes
  std::string_view forced = node == nullptr ? std::string_view{} : ZoneOverrideOf(*node, &ignored);
  if (const std::string_view own = ZoneOverrideOf(topology.metadata, problem); forced.empty())
    forced = own;
  if (forced.empty() && topology.metadata.Annotation(key::kZoneSource).empty())
    forced = topology.metadata.Label(key::kZone);
  const api::NodeTopologySpec& spec = topology.spec;
  NodeWiring wiring{NetWiringOf("roce", spec.net.roce, spec.tiers, names),
                    NetWiringOf("ib", spec.net.ib, spec.tiers, names)};
  if (!forced.empty()) {
    wiring.roce.named = wiring.ib.named = names.zones.Intern(forced);
  } else if (leaf_groups) {
    TakeLeafGroup("roce", spec.tiers, wiring.roce, names);
    TakeLeafGroup("ib", spec.tiers, wiring.ib, names);
  }
  return wiring;
}

bool GlobMatches(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g, ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace sky::model
