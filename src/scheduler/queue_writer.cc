// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue_writer.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "scheduler/waits.h"

namespace sky::scheduler {

using cache::QueuePicture;
using cache::Written;

namespace {

// Names that are no longer there go by null; no amounts at all: the member goes.
nlohmann::json Amounts(const api::ResourceList& want, const api::ResourceList& have) {
  if (want.empty()) return nullptr;
  nlohmann::json amounts = nlohmann::json::object();
  for (const auto& [name, amount] : have) amounts[name] = nullptr;
  for (const auto& [name, amount] : want) amounts[name] = amount.ToString();
  return amounts;
}

}  // namespace

std::string QueuePatch(const QueuePicture& picture) {
  nlohmann::json pools = nlohmann::json::object();
  for (const auto& [code, sums] : picture.have) pools[code] = nullptr;
  for (const auto& [code, want] : picture.want) {
    const auto known = picture.have.find(code);
    const api::SpecAllocated have =
        known == picture.have.end() ? api::SpecAllocated{} : known->second;
    pools[code] = {{"allocatable", Amounts(want.allocatable, have.allocatable)},
                   {"allocated", Amounts(want.allocated, have.allocated)},
                   {"shadow", Amounts(want.shadow, have.shadow)}};
  }
  if (picture.want.empty()) pools = nullptr;
  // Nobody else writes this member, so no version is asked for: counts that others write meanwhile
  // are no conflict.
  return nlohmann::json{{"metadata", {{"uid", picture.uid}}},
                        {"status", {{"specAllocated", std::move(pools)}}}}
      .dump();
}

QueueWriter::QueueWriter(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer,
                         std::function<bool()> may_write, std::function<bool()> busy)
    : loop_(loop),
      cache_(cache),
      writer_(writer),
      may_write_(std::move(may_write)),
      busy_(std::move(busy)) {}

void QueueWriter::Poke() {
  if (timer_) return;
  timer_ = true;
  loop_.RunAfter(kEvery, alive_.Guard([this] {
    timer_ = false;
    Look();
  }));
}

void QueueWriter::Look() {
  if (!may_write_()) return;  // whoever leads next writes them
  if (busy_()) return Poke();
  for (const QueuePicture& picture : cache_.TakeStaleQueues()) {
    if (in_flight_.contains(picture.name)) continue;  // its answer brings it here again
    const auto refusal = refusals_.find(picture.name);
    if (refusal != refusals_.end() && loop_.Now() < refusal->second.again) continue;
    Write(picture);
  }
}

void QueueWriter::Write(const QueuePicture& picture) {
  in_flight_.insert(picture.name);
  writer_.PatchQueueStatus(picture.name, QueuePatch(picture),
                           alive_.Guard([this, name = picture.name](Result<Written> answer) {
                             Answered(name, answer);
                           }));
}

void QueueWriter::Answered(const std::string& name, const Result<Written>& answer) {
  in_flight_.erase(name);
  if (answer || answer.error().code() == Code::kNotFound) {
    written_ += answer ? 1 : 0;
    refusals_.erase(name);
    // What changed meanwhile was passed over; the echo may have come before this answer.
    cache_.QueueAgain(name);
    return Poke();
  }
  Refusal& refusal = refusals_[name];
  refusal.wait = NextWait(refusal.wait);
  refusal.again = loop_.Now() + std::max<Duration>(Stretched(refusal.wait, jitter_),
                                                   answer.error().retry_after());
  AgainAt(refusal.again, name);
  if (std::exchange(refusal.words, answer.error().message()) == answer.error().message()) return;
  spdlog::warn("status of queue {} not written: {}", name, answer.error().message());
}

void QueueWriter::AgainAt(MonoTime at, const std::string& name) {
  loop_.RunAt(at, alive_.Guard([this, name] {
    cache_.QueueAgain(name);
    Poke();
  }));
}

}  // namespace sky::scheduler
