// SPDX-License-Identifier: Apache-2.0
#include "scheduler/volume_writes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/keys.h"
#include "scheduler/words.h"

namespace sky::scheduler {
namespace {

using cache::VolumeWrite;

constexpr size_t kMostInFlight = 16;

std::string ClaimKey(const VolumeWrite& write) { return write.namespace_ + "/" + write.claim; }

std::string ObjectOf(const VolumeWrite& write) {
  return write.volume.empty() ? "claim " + ClaimKey(write) : "volume " + write.volume;
}

const std::string& VersionOf(const VolumeWrite& write) {
  return write.volume.empty() ? write.claim_version : write.volume_version;
}

// kube-scheduler's own way of saying it, and a note of ours, so that we take back nobody else's.
std::string ClaimBody(const VolumeWrite& write) {
  nlohmann::json notes = {{api::key::kSelectedNode, nullptr},
                          {api::key::kNodeSelectedFor, nullptr}};
  if (!write.node.empty())
    notes = {{api::key::kSelectedNode, write.node}, {api::key::kNodeSelectedFor, write.pod_uid}};
  return nlohmann::json{{"metadata",
                         {{"uid", write.claim_uid},
                          {"resourceVersion", write.claim_version},
                          {"annotations", std::move(notes)}}}}
      .dump();
}

// The volume controller does the rest: it gives the volume's name to the claim.
std::string VolumeBody(const VolumeWrite& write) {
  return nlohmann::json{{"metadata",
                         {{"resourceVersion", write.volume_version},
                          {"annotations", {{api::key::kBoundByController, "yes"}}}}},
                        {"spec",
                         {{"claimRef",
                           {{"apiVersion", "v1"},
                            {"kind", "PersistentVolumeClaim"},
                            {"namespace", write.namespace_},
                            {"name", write.claim},
                            {"uid", write.claim_uid},
                            {"resourceVersion", write.claim_version}}}}}}
      .dump();
}

}  // namespace

VolumeWrites::VolumeWrites(kube::Loop& loop, cache::ClusterWriter& writer,
                           std::function<bool()> may_write, std::function<void()> look)
    : loop_(loop), writer_(writer), may_write_(std::move(may_write)), look_(std::move(look)) {}

bool VolumeWrites::Wait(const VolumeWrite& write) const {
  const auto last = written_.find(ObjectOf(write));
  return last != written_.end() && last->second.version == VersionOf(write);
}

std::string VolumeWrites::Send(uint64_t round, const std::vector<VolumeWrite>& writes) {
  if (const auto refused = refused_.find(round); refused != refused_.end()) return refused->second;
  for (const VolumeWrite& write : writes) {
    if (Wait(write)) continue;
    // Its provisioner takes the node off a claim when it can't make a volume there.
    if (write.volume.empty() && said_.contains({round, ClaimKey(write)}))
      return fmt::format("no volume could be made for claim {} on {}", write.claim, write.node);
    if (in_flight_ >= kMostInFlight || !may_write_()) break;
    Make(write, round);
  }
  return {};
}

void VolumeWrites::Clear(const std::vector<VolumeWrite>& stray) {
  std::erase_if(written_, [&](const auto& last) {
    return last.second.round == 0 && std::ranges::none_of(stray, [&](const VolumeWrite& write) {
             return ObjectOf(write) == last.first;
           });
  });
  for (const VolumeWrite& write : stray)
    if (!Wait(write) && in_flight_ < kMostInFlight && may_write_()) Make(write, 0);
}

void VolumeWrites::Make(const VolumeWrite& write, uint64_t round) {
  ++in_flight_;
  const std::string object = ObjectOf(write);
  written_[object] = {VersionOf(write), round};
  auto done = alive_.Guard(
      [this, object, round, claim = write.volume.empty() ? ClaimKey(write) : std::string()](
          const Result<cache::Written>& answer) { Answered(object, round, claim, answer); });
  if (write.volume.empty())
    writer_.PatchClaim(write.namespace_, write.claim, ClaimBody(write), std::move(done));
  else
    writer_.PatchVolume(write.volume, VolumeBody(write), std::move(done));
}

// What was written, or by whom else, the watch tells. Nothing is known of a write without an
// answer: the version decides when it is made again.
void VolumeWrites::Answered(const std::string& object, uint64_t round, const std::string& claim,
                            const Result<cache::Written>& answer) {
  --in_flight_;
  if (answer) {
    if (round != 0 && !claim.empty()) said_.insert({round, claim});
    return look_();
  }
  switch (answer.error().code()) {
    case Code::kConflict:
      break;
    case Code::kTooManyRequests:
    case Code::kUnavailable:
    case Code::kUnknownOutcome:
    case Code::kCancelled:
      loop_.RunAfter(std::max<Duration>(std::chrono::seconds(1), answer.error().retry_after()),
                     alive_.Guard([this, object] {
                       written_.erase(object);
                       look_();
                     }));
      return;
    default:
      if (round != 0)
        refused_[round] =
            fmt::format("the API server refused to change {}: {}", object, Words(answer.error()));
  }
  look_();
}

void VolumeWrites::Forget(uint64_t round) {
  refused_.erase(round);
  said_.erase(said_.lower_bound({round, ""}), said_.lower_bound({round + 1, ""}));
  std::erase_if(written_, [&](const auto& last) { return last.second.round == round; });
}

}  // namespace sky::scheduler
