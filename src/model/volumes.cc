// SPDX-License-Identifier: Apache-2.0
#include "model/volumes.h"

#include <algorithm>

#include "api/keys.h"

namespace sky::model {
namespace {

namespace key = api::key;

constexpr std::string_view kHostname = "kubernetes.io/hostname";

template <class Map>
auto Found(const Map& map, std::string_view name) -> decltype(map.begin()->second.get()) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second.get();
}

std::string ClaimOf(const api::PersistentVolume& volume) {
  const auto& reference = volume.spec.claim_ref;
  return reference ? reference->namespace_ + "/" + reference->name : std::string();
}

bool Free(const api::PersistentVolume& volume) {
  return !volume.spec.claim_ref && volume.status.phase == "Available" &&
         !volume.metadata.deleting();
}

// In all that anybody here reads.
template <class T>
bool Same(const T& a, const T& b) {
  return a.metadata.uid == b.metadata.uid && a.metadata.annotations == b.metadata.annotations &&
         a.metadata.labels == b.metadata.labels &&
         a.metadata.owner_references == b.metadata.owner_references &&
         a.metadata.deleting() == b.metadata.deleting() && a.spec == b.spec && a.status == b.status;
}

bool SameLimits(const api::CSINode* a, const api::CSINode* b) {
  return a != nullptr && b != nullptr ? a->spec == b->spec : a == b;
}

}  // namespace

std::string StorageClassOf(const api::PersistentVolumeClaim& claim) {
  const auto note = claim.metadata.annotations.find(key::kStorageClass);
  if (note != claim.metadata.annotations.end()) return note->second;
  return claim.spec.storage_class_name.value_or("");
}

std::string StorageClassOf(const api::PersistentVolume& volume) {
  const auto note = volume.metadata.annotations.find(key::kStorageClass);
  return note == volume.metadata.annotations.end() ? volume.spec.storage_class_name : note->second;
}

std::vector<std::string> HostnamesOf(const api::PersistentVolume& volume) {
  const auto& affinity = volume.spec.node_affinity;
  if (!affinity || !affinity->required) return {""};
  std::vector<std::string> names;
  for (const api::NodeSelectorTerm& term : affinity->required->node_selector_terms) {
    const auto one = std::ranges::find_if(term.match_expressions, [](const auto& expression) {
      return expression.key == kHostname && expression.op == "In";
    });
    if (one == term.match_expressions.end()) return {""};
    names.insert(names.end(), one->values.begin(), one->values.end());
  }
  return names;
}

const VolumeClaim* Volumes::FindClaim(std::string_view key) const {
  const auto found = claims_.find(key);
  return found == claims_.end() ? nullptr : &found->second;
}

const api::PersistentVolumeClaim* Volumes::FindClaimObject(std::string_view key) const {
  const VolumeClaim* claim = FindClaim(key);
  return claim == nullptr ? nullptr : claim->object.get();
}

const api::PersistentVolume* Volumes::FindVolume(std::string_view name) const {
  return Found(volumes_, name);
}

const api::StorageClass* Volumes::FindClass(std::string_view name) const {
  return Found(classes_, name);
}

const api::CSINode* Volumes::FindLimits(std::string_view node) const {
  return Found(limits_, node);
}

const std::set<std::string>* Volumes::ReservedFor(std::string_view claim) const {
  const auto found = reserved_.find(claim);
  return found == reserved_.end() ? nullptr : &found->second;
}

void Volumes::EachFree(const std::string& storage_class, const std::string& hostname,
                       const std::function<void(const api::PersistentVolume&)>& fn) const {
  const auto of_class = free_.find(storage_class);
  if (of_class == free_.end()) return;
  const auto each = [&](const std::string& name) {
    const auto found = of_class->second.find(name);
    if (found == of_class->second.end()) return;
    for (const std::string& volume : found->second) fn(*volumes_.find(volume)->second);
  };
  each("");
  if (!hostname.empty()) each(hostname);
}

std::vector<TaskId> Volumes::UsersOf(std::string_view claim) const {
  const VolumeClaim* found = FindClaim(claim);
  return found == nullptr ? std::vector<TaskId>{} : found->users;
}

// Rare: a class is made once.
std::vector<TaskId> Volumes::UsersWaitingFor(const std::string& storage_class) const {
  std::vector<TaskId> users;
  for (const auto& [key, claim] : claims_)
    if (claim.object && claim.object->spec.volume_name.empty() &&
        StorageClassOf(*claim.object) == storage_class)
      users.insert(users.end(), claim.users.begin(), claim.users.end());
  std::ranges::sort(users);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

// The list begins anew when it is longer than a look at everything would be.
void Volumes::Note(Kind kind, const std::string& key) {
  if (log_.size() >= std::max<size_t>(claims_.size() + volumes_.size(), 1024)) {
    log_begin_ += log_.size();
    log_.clear();
  }
  log_.emplace_back(kind, key);
}

void Volumes::NoteChosen(const std::string& key) {
  const api::PersistentVolumeClaim* claim = FindClaimObject(key);
  const bool ours = claim != nullptr && claim->spec.volume_name.empty() &&
                    !claim->metadata.Annotation(key::kNodeSelectedFor).empty();
  if (ours)
    chosen_.insert(key);
  else
    chosen_.erase(key);
}

void Volumes::Index(const api::PersistentVolume& volume, bool add) {
  const std::string& name = volume.metadata.name;
  const auto change = [&](std::set<std::string>& set) {
    add ? (void)set.insert(name) : (void)set.erase(name);
  };
  if (const std::string claim = ClaimOf(volume); !claim.empty()) {
    change(reserved_[claim]);
    if (reserved_[claim].empty()) reserved_.erase(claim);
  }
  if (!Free(volume)) return;
  auto& of_class = free_[StorageClassOf(volume)];
  for (const std::string& hostname : HostnamesOf(volume)) {
    change(of_class[hostname]);
    if (of_class[hostname].empty()) of_class.erase(hostname);
  }
}

void Volumes::StoreVolume(const std::string& name, const VolumePtr& volume) {
  if (const auto old = volumes_.find(name); old != volumes_.end()) {
    Index(*old->second, false);
    volumes_.erase(old);
  }
  if (!volume) return;
  volumes_.emplace(name, volume);
  Index(*volume, true);
}

std::vector<TaskId> Volumes::Apply(const VolumeChange& change) {
  return std::visit([&](const auto& object) { return Store(change.key, object); }, change.object);
}

std::vector<TaskId> Volumes::Store(const std::string& key, const ClaimPtr& claim) {
  Note(Kind::kClaim, key);
  VolumeClaim& row = claims_[key];
  const ClaimPtr before = std::exchange(row.object, claim);
  std::vector<TaskId> users = row.users;
  if (!row.object && row.users.empty()) claims_.erase(key);
  NoteChosen(key);
  return before && claim && Same(*before, *claim) ? std::vector<TaskId>{} : users;
}

std::vector<TaskId> Volumes::Store(const std::string& key, const VolumePtr& volume) {
  Note(Kind::kVolume, key);
  const auto found = volumes_.find(key);
  const VolumePtr before = found == volumes_.end() ? VolumePtr() : found->second;
  StoreVolume(key, volume);
  if (before && volume && Same(*before, *volume)) return {};
  if (volume && Free(*volume)) offered_ = Tick();
  std::vector<TaskId> users;
  for (const VolumePtr& one : {before, volume})
    if (one)
      for (const TaskId user : UsersOf(ClaimOf(*one))) InsertSorted(users, user);
  return users;
}

std::vector<TaskId> Volumes::Store(const std::string& key, const ClassPtr& made) {
  Note(Kind::kClass, key);
  classes_.erase(key);
  if (made) classes_.emplace(key, made);
  return UsersWaitingFor(key);
}

std::vector<TaskId> Volumes::Store(const std::string& key, const LimitsPtr& limits) {
  if (SameLimits(FindLimits(key), limits.get())) return {};
  Note(Kind::kLimits, key);
  limits_.erase(key);
  if (limits) limits_.emplace(key, limits);
  offered_ = Tick();
  return {};
}

std::vector<TaskId> Volumes::Store(const std::string&, const std::string& unreadable) {
  if (unreadable_ == unreadable) return {};
  unreadable_ = unreadable;
  std::vector<TaskId> users;
  for (const auto& [key, claim] : claims_)
    users.insert(users.end(), claim.users.begin(), claim.users.end());
  std::ranges::sort(users);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

void Volumes::AddUser(const std::string& claim, TaskId task) {
  Note(Kind::kClaim, claim);
  InsertSorted(claims_[claim].users, task);
  ++uses_;
}

void Volumes::RemoveUser(const std::string& claim, TaskId task) {
  Note(Kind::kClaim, claim);
  const auto row = claims_.find(claim);
  EraseSorted(row->second.users, task);
  if (!row->second.object && row->second.users.empty()) claims_.erase(row);
  --uses_;
}

void Volumes::Follow(const Volumes& other) {
  const uint64_t read = log_begin_ + log_.size();
  if (log_id_ != other.log_id_ || read < other.log_begin_) {
    *this = other;
  } else {
    for (uint64_t at = read; at < other.log_begin_ + other.log_.size(); ++at) {
      const auto& [kind, key] = other.log_[at - other.log_begin_];
      if (kind == Kind::kClaim) {
        const auto theirs = other.claims_.find(key);
        if (theirs == other.claims_.end())
          claims_.erase(key);
        else
          claims_.insert_or_assign(key, theirs->second);
        NoteChosen(key);
      } else if (kind == Kind::kVolume) {
        const auto theirs = other.volumes_.find(key);
        StoreVolume(key, theirs == other.volumes_.end() ? VolumePtr() : theirs->second);
      } else if (kind == Kind::kClass) {
        classes_ = other.classes_;
      } else if (kind == Kind::kLimits) {
        const auto theirs = other.limits_.find(key);
        limits_.erase(key);
        if (theirs != other.limits_.end()) limits_.emplace(key, theirs->second);
      }
    }
    uses_ = other.uses_;
    unreadable_ = other.unreadable_;
    offered_ = other.offered_;
  }
  log_begin_ = other.log_begin_ + other.log_.size();
  log_.clear();
}

}  // namespace sky::model
