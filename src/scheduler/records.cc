// SPDX-License-Identifier: Apache-2.0
#include "scheduler/records.h"

#include <algorithm>

#include "api/version.h"
#include "base/check.h"
#include "scheduler/waits.h"
#include "scheduler/words.h"

namespace sky::scheduler {

using cache::RoundEntry;

namespace {

bool SameContent(const api::PlacementSpec& a, const api::PlacementSpec& b) {
  return a.pod_group_uid == b.pod_group_uid && a.entries == b.entries && a.nodes == b.nodes &&
         a.quotas == b.quotas && a.zones == b.zones;
}

bool SameWrite(const api::PlacementSpec& a, const api::PlacementSpec& b) {
  return a.round == b.round && a.leader_epoch == b.leader_epoch && SameContent(a, b);
}

template <class Requests>
bool Decides(const Requests& requests) {
  return std::ranges::any_of(requests, [](const auto& one) { return one.decides; });
}

// Those of which `wanted` is true, taken out in their order.
template <class Requests, class Wanted>
Requests Take(Requests& from, Wanted wanted) {
  Requests taken, left;
  for (auto& one : from) (wanted(one) ? taken : left).push_back(std::move(one));
  from = std::move(left);
  return taken;
}

// Of versions that aren't comparable another one is a newer one.
bool NewerThan(const std::string& a, const std::string& b) {
  const std::partial_ordering order = api::CompareVersions(a, b);
  return order == std::partial_ordering::unordered ? a != b : order > 0;
}

}  // namespace

// Counts a call as under way until its callback has run.
template <class Fn>
auto Records::Tracked(Fn fn) {
  ++calls_;
  return alive_.Guard([this, fn = std::move(fn)](auto&&... answer) mutable {
    --calls_;
    fn(std::forward<decltype(answer)>(answer)...);
  });
}

void Records::Write(const cache::Round& round, bool decides, Done done) {
  const std::string key = round.namespace_ + "/" + round.group;
  Group& group = groups_[key];
  group.namespace_ = round.namespace_;
  group.name = round.group;
  group.waiting.push_back({round.group_uid, decides, std::move(done)});
  if (!group.busy) Send(key);
}

// The oldest request, and whoever speaks of the same life of the group.
void Records::Send(const std::string& key) {
  const auto found = groups_.find(key);
  if (found == groups_.end() || found->second.busy) return;
  Group& group = found->second;
  if (group.waiting.empty()) {
    if (!group.known) groups_.erase(found);  // the watch knows as much
    return;
  }
  const std::string uid = group.waiting.front().uid;
  group.sent = Take(group.waiting, [&](const Request& one) { return one.uid == uid; });
  group.busy = true;
  group.conflicts = 0;
  group.unknown.reset();
  group.wait = Duration::zero();
  Put(key);
}

api::Placement Records::Compose(const std::string& key, const Group& group) const {
  api::Placement placement;
  const std::string& uid = group.sent.front().uid;
  placement.metadata.name = group.name;
  placement.metadata.namespace_ = group.namespace_;
  placement.metadata.owner_references.push_back(
      {"scheduling.infini-ai.com/v1alpha1", "PodGroup", group.name, uid, false, false});
  api::PlacementSpec& spec = placement.spec;
  spec.pod_group_uid = uid;
  spec.leader_epoch = hooks_.epoch();
  std::map<std::string, int32_t> nodes, zones, quotas;
  const auto row = [](std::map<std::string, int32_t>& index, std::vector<std::string>& table,
                      const std::string& name) {
    const auto [at, added] = index.try_emplace(name, static_cast<int32_t>(table.size()));
    if (added) table.push_back(name);
    return at->second;
  };
  for (const RoundEntry* entry : hooks_.open(key, uid)) {
    api::PlacementEntry& out = spec.entries.emplace_back();
    out.task = entry->name;
    out.pod_uid = entry->uid;
    out.role = entry->role;
    if (entry->rank && *entry->rank <= INT32_MAX) out.rank = static_cast<int32_t>(*entry->rank);
    out.quota = entry->direct() ? -1 : row(quotas, spec.quotas, entry->quota_name);
    out.node = row(nodes, spec.nodes, entry->node_name);
    if (!entry->zone.empty()) out.zone = row(zones, spec.zones, entry->zone);
  }
  return placement;
}

void Records::Put(const std::string& key) {
  Group& group = groups_.at(key);
  if (!hooks_.may_write()) return Finish(key, Fail(Code::kCancelled, "not leading"));
  const std::string uid = group.sent.front().uid;
  // A life that is over writes nothing: it would take the next one's record away.
  if (cache_.GroupUid(key) != uid) return Finish(key, Fail(Code::kNotFound, "the group is gone"));
  auto known = group.known || group.certain ? group.known : cache_.FindPlacement(key);
  // Another hand may have written since: what the watch has seen of it counts.
  if (const auto seen = cache_.FindPlacement(key);
      known && seen && seen->metadata.uid == known->metadata.uid &&
      NewerThan(seen->metadata.resource_version, known->metadata.resource_version))
    known = seen;
  if (known && known->spec.pod_group_uid != uid) return Remove(key, known->metadata.uid);
  api::Placement placement = Compose(key, group);
  if (!known && placement.spec.entries.empty()) return Finish(key, {});
  // What takes something out has nothing to do; a decision is never taken as written by hearsay.
  if (known && !Decides(group.sent) && SameContent(known->spec, placement.spec))
    return Finish(key, {});
  placement.spec.round = known ? known->spec.round + 1 : 1;
  if (known) {
    placement.metadata.uid = known->metadata.uid;
    placement.metadata.resource_version = known->metadata.resource_version;
    placement.spec.extra = known->spec.extra;
  }
  group.wanted = placement;
  auto answered =
      Tracked([this, key](Result<api::Placement> answer) { Answered(key, std::move(answer)); });
  if (known)
    writer_.UpdatePlacement(placement, std::move(answered));
  else
    writer_.CreatePlacement(placement, std::move(answered));
}

// Another life of the group's name: its record goes first (F15).
void Records::Remove(const std::string& key, const std::string& uid) {
  const Group& group = groups_.at(key);
  writer_.DeletePlacement(
      group.namespace_, group.name, uid, Tracked([this, key](const Result<cache::Written>& gone) {
        const bool busy = !gone && (gone.error().code() == Code::kTooManyRequests ||
                                    gone.error().code() == Code::kUnavailable);
        if (busy) return Later(key, gone.error(), &Records::Put);
        Read(key);
      }));
}

void Records::Answered(const std::string& key, Result<api::Placement> answer) {
  Group& group = groups_.at(key);
  if (answer) {
    group.known = std::make_shared<const api::Placement>(std::move(*answer));
    group.certain = true;
    return Finish(key, {});
  }
  const Error& error = answer.error();
  group.unknown.reset();
  switch (error.code()) {
    case Code::kTooManyRequests:
    case Code::kUnavailable:
    case Code::kCancelled:
      return Later(key, error, &Records::Put);
    case Code::kUnknownOutcome:
      group.unknown = error;
      return Read(key);
    case Code::kAlreadyExists:
    case Code::kConflict:
    case Code::kNotFound:
      return Read(key);
    default:
      return Finish(key, std::unexpected(error));
  }
}

void Records::Read(const std::string& key) {
  Group& group = groups_.at(key);
  if (++group.conflicts > kMostConflicts)
    return Finish(key, group.unknown ? std::unexpected(*group.unknown)
                                     : Fail(Code::kConflict, "others write it all the time"));
  writer_.GetPlacement(
      group.namespace_, group.name,
      Tracked([this, key](Result<api::Placement> there) { ReadAnswered(key, std::move(there)); }));
}

// Same content: it was ours after all. Else write again on top of what is there.
void Records::ReadAnswered(const std::string& key, Result<api::Placement> there) {
  Group& group = groups_.at(key);
  if (!there && there.error().code() != Code::kNotFound) {
    --group.conflicts;  // nothing was learnt
    return Later(key, there.error(), &Records::Read);
  }
  group.certain = true;
  group.known = there ? std::make_shared<const api::Placement>(std::move(*there)) : nullptr;
  if (group.known && SameWrite(group.known->spec, group.wanted.spec)) return Finish(key, {});
  // An answer may be lost once; a server that fails each time is asked ever more seldom.
  if (group.unknown && group.conflicts > 1) return Later(key, *group.unknown, &Records::Put);
  Put(key);
}

void Records::Later(const std::string& key, const Error& error, Step step) {
  Group& group = groups_.at(key);
  if (Decides(group.sent)) hooks_.delayed(key, Words(error));
  group.wait = NextWait(group.wait);
  loop_.RunAfter(std::max<Duration>(Stretched(group.wait, jitter_), error.retry_after()),
                 alive_.Guard([this, key, step] { (this->*step)(key); }));
}

void Records::Finish(const std::string& key, const Status& status) {
  Group& group = groups_.at(key);
  std::vector<Request> served = std::exchange(group.sent, {});
  group.busy = false;
  // What was refused was somebody's round: who takes something out of the record asks again.
  const bool refused = !status && status.error().code() != Code::kCancelled && Decides(served);
  auto again = Take(served, [&](const Request& one) { return refused && !one.decides; });
  group.waiting.insert(group.waiting.begin(), std::make_move_iterator(again.begin()),
                       std::make_move_iterator(again.end()));
  for (Request& one : served) one.done(status);  // may ask for more, and send it
  Send(key);
}

bool Records::Idle() const {
  return std::ranges::none_of(groups_, [](const auto& item) { return item.second.busy; });
}

bool Records::Knows(const api::Placement& placement) const {
  const auto found = groups_.find(placement.metadata.Key());
  if (found == groups_.end()) return false;
  const Group& group = found->second;
  if (group.busy && SameWrite(group.wanted.spec, placement.spec)) return true;
  return group.known && group.known->metadata.uid == placement.metadata.uid &&
         !NewerThan(placement.metadata.resource_version, group.known->metadata.resource_version);
}

void Records::Gone(const api::Placement& placement) {
  const auto found = groups_.find(placement.metadata.Key());
  if (found == groups_.end()) return;
  Group& group = found->second;
  if (group.known && group.known->metadata.uid != placement.metadata.uid) return;
  group.known = nullptr;
  group.certain = false;
  if (!group.busy && group.waiting.empty()) groups_.erase(found);
}

void Records::Forget() {
  for (auto& [key, group] : groups_) {
    group.known = nullptr;
    group.certain = false;
  }
  std::erase_if(groups_,
                [](const auto& item) { return !item.second.busy && item.second.waiting.empty(); });
}

}  // namespace sky::scheduler
