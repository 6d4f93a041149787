// SPDX-License-Identifier: Apache-2.0
// The claims, volumes, storage classes and attach limits that pods' volumes hang on, by name, with
// who uses each claim. A part of Cluster: the cache's follows the API, a snapshot's follows that
// one by a log of what changed. What it all means for a pod stands in model/volume_rules.h. Not
// thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "api/delta.h"
#include "api/volumes.h"
#include "model/cells.h"
#include "model/table.h"
#include "model/types.h"

namespace sky::model {

struct VolumeClaim {
  std::shared_ptr<const api::PersistentVolumeClaim> object;  // null: not seen
  std::vector<TaskId> users;  // pods that name it, finished ones too, by id
};

template <class T>
concept IsOfVolumes =
    std::same_as<T, api::PersistentVolumeClaim> || std::same_as<T, api::PersistentVolume> ||
    std::same_as<T, api::StorageClass> || std::same_as<T, api::CSINode>;

// An object that came or changed (null: it is gone), or why these kinds can't be read ("": they
// can).
struct VolumeChange {
  std::string key;  // "ns/name" of a claim, else its name
  std::variant<std::shared_ptr<const api::PersistentVolumeClaim>,
               std::shared_ptr<const api::PersistentVolume>,
               std::shared_ptr<const api::StorageClass>, std::shared_ptr<const api::CSINode>,
               std::string>
      object;
  explicit VolumeChange(std::string unreadable) : object(std::move(unreadable)) {}
  template <class T>
    requires IsOfVolumes<T>
  VolumeChange(const api::Delta<T>& delta)  // NOLINT: a delta is one
      : key(delta.object->metadata.Key()),
        object(delta.type == api::Delta<T>::Type::kDelete ? nullptr : delta.object) {}
};

class Volumes {
 public:
  // nullptr: nothing is known of it.
  const VolumeClaim* FindClaim(std::string_view key) const;
  const api::PersistentVolumeClaim* FindClaimObject(std::string_view key) const;
  const api::PersistentVolume* FindVolume(std::string_view name) const;
  const api::StorageClass* FindClass(std::string_view name) const;
  const api::CSINode* FindLimits(std::string_view node) const;
  // Volumes that say themselves whose they are, by the claim's key.
  const std::set<std::string>* ReservedFor(std::string_view claim) const;
  // Volumes of a class that nobody has and that a node of this hostname might reach, in no order.
  void EachFree(const std::string& storage_class, const std::string& hostname,
                const std::function<void(const api::PersistentVolume&)>& fn) const;
  // Claims without a volume whose node we have chosen.
  const std::set<std::string>& chosen() const { return chosen_; }
  // Does any pod name a claim? Where none does nobody has to look here.
  bool used() const { return uses_ > 0; }
  // It moves when something comes that may help whoever waits for a volume: free volumes, limits.
  uint64_t offered() const { return offered_; }
  // Why the kinds can't be read, for people; "": they can.
  const std::string& unreadable() const { return unreadable_; }

  // --- facts ---
  // The pods whose chances it may have changed; by what is `offered` it may be others' too.
  std::vector<TaskId> Apply(const VolumeChange& change);
  void AddUser(const std::string& claim, TaskId task);
  void RemoveUser(const std::string& claim, TaskId task);
  // Brings a copy up to date.
  void Follow(const Volumes& other);

 private:
  enum class Kind : uint8_t { kNone, kClaim, kVolume, kClass, kLimits };
  using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;
  using VolumePtr = std::shared_ptr<const api::PersistentVolume>;
  using ClassPtr = std::shared_ptr<const api::StorageClass>;
  using LimitsPtr = std::shared_ptr<const api::CSINode>;
  template <class T>
  using ByName =
      std::unordered_map<std::string, std::shared_ptr<const T>, NameHash, std::equal_to<>>;

  void Note(Kind kind, const std::string& key);
  void NoteChosen(const std::string& key);
  void StoreVolume(const std::string& name, const VolumePtr& volume);
  void Index(const api::PersistentVolume& volume, bool add);
  std::vector<TaskId> Store(const std::string& key, const ClaimPtr& claim);
  std::vector<TaskId> Store(const std::string& key, const VolumePtr& volume);
  std::vector<TaskId> Store(const std::string& key, const ClassPtr& made);
  std::vector<TaskId> Store(const std::string& key, const LimitsPtr& limits);
  std::vector<TaskId> Store(const std::string&, const std::string& unreadable);
  std::vector<TaskId> UsersOf(std::string_view claim) const;
  std::vector<TaskId> UsersWaitingFor(const std::string& storage_class) const;

  std::unordered_map<std::string, VolumeClaim, NameHash, std::equal_to<>> claims_;
  ByName<api::PersistentVolume> volumes_;
  ByName<api::StorageClass> classes_;
  ByName<api::CSINode> limits_;
  std::map<std::string, std::set<std::string>, std::less<>> reserved_;
  // Of a class, by the hostname that a volume is tied to; "": by another rule, or none.
  std::map<std::string, std::map<std::string, std::set<std::string>>> free_;
  std::set<std::string> chosen_;
  std::string unreadable_;
  size_t uses_ = 0;  // of all claims
  uint64_t offered_ = 0;
  // What changed, [log_begin_, log_begin_ + log_.size()), of the history log_id_.
  uint64_t log_id_ = Tick(), log_begin_ = 0;
  std::vector<std::pair<Kind, std::string>> log_;
};

// Annotation before field, as Kubernetes reads it.
std::string StorageClassOf(const api::PersistentVolumeClaim& claim);
std::string StorageClassOf(const api::PersistentVolume& volume);
// The hostnames of the nodes that may reach it; {""}: others may too.
std::vector<std::string> HostnamesOf(const api::PersistentVolume& volume);

}  // namespace sky::model
