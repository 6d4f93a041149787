// SPDX-License-Identifier: Apache-2.0
#include "lab/local_volumes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/keys.h"
#include "api/kinds.h"
#include "api/selectors.h"
#include "base/check.h"

namespace sky::lab {
namespace {

namespace key = api::key;

using Claim = api::PersistentVolumeClaim;
using Volume = api::PersistentVolume;

constexpr std::string_view kTakes = "lab.infini-ai.com/provision-takes";
constexpr std::string_view kRefused = "lab.infini-ai.com/provision-refused";

template <class T>
std::string PathOf(const T& object) {
  return api::KindOf<T>().Path(object.metadata.namespace_, object.metadata.name);
}

template <class T>
std::vector<T> AllOf(InProcess& client) {
  std::vector<T> objects;
  const Json list = client.Get(api::KindOf<T>().Path("", "")).json();
  for (const Json& item : list.value("items", Json::array()))
    if (auto object = api::Decode<T>(Dump(item))) objects.push_back(std::move(*object));
  return objects;
}

std::string ClassOf(const Claim& claim) {
  const auto note = claim.metadata.annotations.find(key::kStorageClass);
  if (note != claim.metadata.annotations.end()) return note->second;
  return claim.spec.storage_class_name.value_or("");
}

api::Quantity Storage(const api::ResourceList& amounts) {
  const auto found = amounts.find("storage");
  return found == amounts.end() ? api::Quantity() : found->second;
}

bool IsFor(const Volume& volume, const Claim& claim) {
  const auto& reference = volume.spec.claim_ref;
  return reference && reference->namespace_ == claim.metadata.namespace_ &&
         reference->name == claim.metadata.name &&
         (reference->uid.empty() || reference->uid == claim.metadata.uid);
}

bool Suits(const Volume& volume, const Claim& claim) {
  const auto has = [&](const std::string& mode) {
    return std::ranges::find(volume.spec.access_modes, mode) != volume.spec.access_modes.end();
  };
  return !volume.spec.claim_ref && volume.status.phase == "Available" &&
         volume.spec.storage_class_name == ClassOf(claim) &&
         volume.spec.volume_mode == claim.spec.volume_mode &&
         !(Storage(volume.spec.capacity) < Storage(claim.spec.resources.requests)) &&
         std::ranges::all_of(claim.spec.access_modes, has) &&
         (!claim.spec.selector || api::Matches(*claim.spec.selector, volume.metadata.labels));
}

Json ReferenceTo(const Claim& claim) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"namespace", claim.metadata.namespace_},
          {"name", claim.metadata.name},
          {"uid", claim.metadata.uid}};
}

}  // namespace

LocalVolumes::LocalVolumes(ApiServer& api, const Clock& clock)
    : api_(api), clock_(clock), client_(api, "kube-controller-manager/sky-lab") {
  for (const std::string& target :
       {api::KindOf<Claim>().Path("", ""), api::KindOf<Volume>().Path("", ""),
        api::KindOf<api::StorageClass>().Path("", ""), api::KindOf<api::Pod>().Path("", "")})
    feeds_.push_back(std::make_unique<Feed>(Feed{target + "?watch=true"}));
}

LocalVolumes::~LocalVolumes() {
  for (const auto& feed : feeds_) api_.Unwatch(feed->watch);
}

void LocalVolumes::Watch(Feed& feed) {
  {
    const std::lock_guard lock(mutex_);
    feed.ended = false;
  }
  const bool pods = feed.target.find("/pods?") != std::string::npos;
  const auto watch = api_.StartWatch(
      client_.MakeRequest("GET", feed.target), [this, &feed, pods](const WatchEvent* event) {
        const std::lock_guard lock(mutex_);
        if (event == nullptr)
          feed.ended = true;
        else if (!pods)
          dirty_ = true;
        else if (event->object.find("\"ephemeral\"") != std::string::npos)
          dirty_ = ephemeral_ = true;
        return true;
      });
  SKY_CHECK(watch.has_value(), "{}", watch.error().message);
  feed.watch = *watch;
}

MonoTime LocalVolumes::next_due() const {
  MonoTime next = MonoTime::max();
  for (const auto& [claim, due] : due_) next = std::min(next, due.second);
  return next;
}

bool LocalVolumes::Step() {
  for (const auto& feed : feeds_) {
    const bool ended = [&] {
      const std::lock_guard lock(mutex_);
      return feed->ended;
    }();
    if (ended) Watch(*feed);
  }
  {
    const std::lock_guard lock(mutex_);
    if (!dirty_ && next_due() > clock_.Mono()) return false;
    dirty_ = false;
  }
  bool wrote = ephemeral_ && MakeEphemeralClaims();
  Seen seen{AllOf<Claim>(client_), AllOf<Volume>(client_), {}};
  for (api::StorageClass& made : AllOf<api::StorageClass>(client_))
    seen.classes.emplace(made.metadata.name, std::move(made));
  std::erase_if(due_, [&](const auto& due) {
    return std::ranges::none_of(seen.claims, [&](const Claim& claim) {
      return claim.metadata.uid == due.first && claim.spec.volume_name.empty();
    });
  });
  for (const Volume& volume : seen.volumes) wrote = StepVolume(seen, volume) || wrote;
  // A volume is given to one claim: the next one looks again.
  for (const Claim& claim : seen.claims)
    if (StepClaim(seen, claim)) return true;
  return wrote;
}

// Named after the pod and its volume, owned by the pod.
bool LocalVolumes::MakeEphemeralClaims() {
  bool wrote = false;
  const Json pods = client_.Get(api::KindOf<api::Pod>().Path("", "")).json();
  for (const Json& pod : pods.value("items", Json::array())) {
    const Json* volumes = Find(pod, {"spec", "volumes"});
    if (volumes == nullptr || Find(pod, {"metadata", "deletionTimestamp"}) != nullptr) continue;
    const std::string ns = TextAt(pod, {"metadata", "namespace"}),
                      name = TextAt(pod, {"metadata", "name"});
    for (const Json& volume : *volumes) {
      const Json* wanted = Find(volume, {"ephemeral", "volumeClaimTemplate"});
      if (wanted == nullptr) continue;
      Json claim = *wanted;
      claim["apiVersion"] = "v1";
      claim["kind"] = "PersistentVolumeClaim";
      claim["metadata"]["name"] = name + "-" + TextAt(volume, {"name"});
      claim["metadata"]["ownerReferences"] = {{{"apiVersion", "v1"},
                                               {"kind", "Pod"},
                                               {"name", name},
                                               {"uid", TextAt(pod, {"metadata", "uid"})},
                                               {"controller", true}}};
      wrote = client_.Post(api::KindOf<Claim>().Path(ns, ""), claim).ok() || wrote;
    }
  }
  return wrote;
}

bool LocalVolumes::Patch(const std::string& target, const Json& body) {
  return client_.Patch(InProcess::PatchType::kMerge, target, body).ok();
}

bool LocalVolumes::StepVolume(const Seen& seen, const Volume& volume) {
  const auto claim =
      std::ranges::find_if(seen.claims, [&](const Claim& one) { return IsFor(volume, one); });
  const bool held = volume.spec.claim_ref && !volume.spec.claim_ref->uid.empty();
  std::string phase = volume.status.phase;
  if (!volume.spec.claim_ref)
    phase = "Available";
  else if (claim == seen.claims.end() && held)
    phase = "Released";
  else if (claim != seen.claims.end() && claim->spec.volume_name == volume.metadata.name)
    phase = "Bound";
  return phase != volume.status.phase &&
         Patch(PathOf(volume) + "/status", {{"status", {{"phase", phase}}}});
}

// The volume is the claim's: both say so.
bool LocalVolumes::Complete(const Claim& claim, const Volume& volume) {
  bool wrote = false;
  if (!volume.spec.claim_ref || volume.spec.claim_ref->uid.empty())
    wrote = Patch(PathOf(volume), {{"spec", {{"claimRef", ReferenceTo(claim)}}}});
  if (!claim.metadata.annotations.contains(key::kBindCompleted))
    wrote =
        Patch(
            PathOf(claim),
            {{"metadata",
              {{"annotations", {{key::kBindCompleted, "yes"}, {key::kBoundByController, "yes"}}}}},
             {"spec", {{"volumeName", volume.metadata.name}}}}) ||
        wrote;
  if (claim.status.phase != "Bound")
    wrote = Patch(PathOf(claim) + "/status", {{"status", {{"phase", "Bound"}}}}) || wrote;
  return wrote;
}

bool LocalVolumes::StepClaim(const Seen& seen, const Claim& claim) {
  if (claim.metadata.deleting()) return false;
  const Volume* its = nullptr;
  for (const Volume& volume : seen.volumes)
    if (claim.spec.volume_name.empty() ? IsFor(volume, claim)
                                       : volume.metadata.name == claim.spec.volume_name)
      its = &volume;
  if (its != nullptr) return Complete(claim, *its);
  if (!claim.spec.volume_name.empty())
    return claim.status.phase != "Lost" &&
           claim.metadata.annotations.contains(key::kBindCompleted) &&
           Patch(PathOf(claim) + "/status", {{"status", {{"phase", "Lost"}}}});
  const auto made = seen.classes.find(ClassOf(claim));
  const bool late =
      made != seen.classes.end() && made->second.volume_binding_mode == "WaitForFirstConsumer";
  if (!late) {
    const Volume* best = nullptr;
    for (const Volume& volume : seen.volumes)
      if (Suits(volume, claim) &&
          (best == nullptr || Storage(volume.spec.capacity) < Storage(best->spec.capacity)))
        best = &volume;
    if (best != nullptr)
      return Patch(PathOf(*best), {{"spec", {{"claimRef", ReferenceTo(claim)}}}});
  }
  return made != seen.classes.end() && Provision(claim, made->second, late);
}

bool LocalVolumes::Provision(const Claim& claim, const api::StorageClass& made, bool late) {
  const std::string node(claim.metadata.Annotation(key::kSelectedNode));
  if (made.provisioner == "kubernetes.io/no-provisioner" || (late && node.empty())) {
    due_.erase(claim.metadata.uid);
    return false;
  }
  const auto takes = ParseDuration(made.metadata.Annotation(kTakes));
  const auto [due, added] = due_.try_emplace(
      claim.metadata.uid, node, clock_.Mono() + takes.value_or(std::chrono::seconds(1)));
  if (!added && due->second.first != node)
    due->second = {node, clock_.Mono() + takes.value_or(std::chrono::seconds(1))};
  if (due->second.second > clock_.Mono()) return false;
  due_.erase(due);
  if (!node.empty() && made.metadata.Annotation(kRefused) == node)
    return Patch(PathOf(claim), {{"metadata", {{"annotations", {{key::kSelectedNode, nullptr}}}}}});
  const std::string name = "pvc-" + claim.metadata.uid;
  Json volume = {{"apiVersion", "v1"},
                 {"kind", "PersistentVolume"},
                 {"metadata", {{"name", name}}},
                 {"spec",
                  {{"capacity", {{"storage", Storage(claim.spec.resources.requests).ToString()}}},
                   {"accessModes", claim.spec.access_modes},
                   {"volumeMode", claim.spec.volume_mode},
                   {"storageClassName", made.metadata.name},
                   {"claimRef", ReferenceTo(claim)},
                   {"csi", {{"driver", made.provisioner}, {"volumeHandle", name}}}}}};
  if (!node.empty())
    volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = {
        {{"matchExpressions",
          {{{"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", {node}}}}}}};
  return client_.Post(api::KindOf<Volume>().Path("", ""), volume).ok();
}

}  // namespace sky::lab
