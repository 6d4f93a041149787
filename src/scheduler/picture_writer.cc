// SPDX-License-Identifier: Apache-2.0
#include "scheduler/picture_writer.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "api/json.h"
#include "scheduler/waits.h"

namespace sky::scheduler {

using cache::Picture;
using cache::Written;

namespace {

// Not a refusal: the same status, painted anew, may well be taken.
bool Transient(const Error& error) {
  return error.code() == Code::kConflict || error.code() == Code::kTooManyRequests ||
         error.code() == Code::kUnknownOutcome || error.code() == Code::kUnavailable ||
         error.code() == Code::kCancelled;
}

}  // namespace

PictureWriter::PictureWriter(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer,
                             Duration min_fix_interval, std::function<bool()> may_write,
                             std::function<bool()> busy)
    : loop_(loop),
      cache_(cache),
      writer_(writer),
      min_fix_interval_(min_fix_interval),
      may_write_(std::move(may_write)),
      busy_(std::move(busy)) {}

void PictureWriter::Poke() {
  if (timer_) return;
  timer_ = true;
  loop_.RunAfter(kDelay, alive_.Guard([this] {
    timer_ = false;
    Look();
  }));
}

void PictureWriter::Look() {
  if (!may_write_()) return;  // whoever leads next writes them
  if (busy_()) return Poke();
  const bool may_fix = !last_fix_ || loop_.Now() - *last_fix_ >= min_fix_interval_;
  while (in_flight_.size() < kMaxInFlight) {
    const std::vector<Picture> stale = cache_.TakeStalePictures(kMaxInFlight - in_flight_.size());
    if (stale.empty()) break;
    for (const Picture& picture : stale) {
      // One write a quota at a time: the answer of the one under way brings it here again.
      if (in_flight_.contains(picture.name)) {
        changed_.insert(picture.name);
        continue;
      }
      if (MustWait(picture)) continue;  // comes again when its wait is over
      if (picture.heals && !may_fix) {
        AgainAt(*last_fix_ + min_fix_interval_, picture.name);
        continue;
      }
      if (picture.heals) NoteHealing(picture);
      Write(picture, [this](Status) { Poke(); });
    }
  }
}

void PictureWriter::NoteHealing(const Picture& picture) {
  last_fix_ = loop_.Now();
  ++healed_;
  spdlog::info("fixQuotaBinding: quota {} is on {} by its pods, its status says {}", picture.name,
               picture.status.node_name.empty() ? "no node" : picture.status.node_name,
               picture.observed_node);
}

void PictureWriter::AgainAt(MonoTime at, const std::string& name) {
  loop_.RunAt(at, alive_.Guard([this, name] {
    cache_.PictureAgain(name);
    if (!cache_.PictureOf(name)) refusals_.erase(name);  // the quota is gone
    Poke();
  }));
}

bool PictureWriter::MustWait(const Picture& picture) {
  const auto found = refusals_.find(picture.name);
  if (found == refusals_.end()) return false;
  Refusal& refusal = found->second;
  if (refusal.patch == Patch(picture)) return loop_.Now() < refusal.again;
  if (loop_.Now() >= refusal.asked_for) return false;
  if (refusal.asked_for < refusal.again) AgainAt(refusal.again = refusal.asked_for, picture.name);
  return true;
}

void PictureWriter::Refused(const std::string& name, const std::string& uid, std::string patch,
                            const Error& error) {
  Refusal& refusal = refusals_[name];
  if (refusal.uid != uid) refusal = {};
  if (refusal.patch != patch) refusal.wait = Duration::zero();
  refusal.uid = uid;
  refusal.patch = std::move(patch);
  refusal.wait = NextWait(refusal.wait);
  refusal.asked_for = loop_.Now() + error.retry_after();
  refusal.again = std::max(loop_.Now() + Stretched(refusal.wait, jitter_), refusal.asked_for);
  AgainAt(refusal.again, name);
  // A conflict is a race with a change that is still on its way here, its own last write too.
  if (error.code() == Code::kConflict)
    return spdlog::debug("status of quota {} not written: {}", name, error.message());
  if (std::exchange(refusal.words, error.message()) == error.message()) return;
  spdlog::warn("status of quota {} not written: {}", name, error.message());
  if (Transient(error) || !may_write_()) return;
  cache::ClusterWriter::EventNote note;
  note.regarding.api_version = "scheduling.infini-ai.com/v1alpha1";
  note.regarding.kind = "Quota";
  note.regarding.name = name;
  note.regarding.uid = uid;
  note.warning = true;
  note.reason = "StatusRefused";
  note.action = "WritingStatus";
  note.note = fmt::format("its status is out of date: {}", error.message());
  writer_.Event(note);
}

void PictureWriter::Taken(const std::string& name) {
  ++written_;
  const auto found = refusals_.find(name);
  if (found == refusals_.end()) return;
  if (!found->second.words.empty()) spdlog::info("status of quota {} is written again", name);
  refusals_.erase(found);
}

// Our members of the status, with the version that they were painted on: lists are replaced whole.
std::string PictureWriter::Patch(const Picture& picture) {
  nlohmann::json status = nlohmann::json::parse(api::Encode(picture.status));
  if (picture.status.node_name.empty()) status["nodeName"] = nullptr;
  nlohmann::json allocated = nlohmann::json::object();
  for (const auto& [name, amount] : picture.observed_allocated) allocated[name] = nullptr;
  for (const auto& [name, amount] : picture.status.allocated) allocated[name] = amount.ToString();
  status["allocated"] = picture.status.allocated.empty() ? nlohmann::json() : std::move(allocated);
  if (picture.status.tasks.empty()) status["tasks"] = nullptr;
  if (picture.status.reserved_tasks.empty()) status["reservedTasks"] = nullptr;
  if (picture.conditions) {
    // Whole, as every list: the version keeps others' conditions from being lost.
    api::QuotaStatus listed;
    listed.conditions = *picture.conditions;
    status["conditions"] =
        nlohmann::json::parse(api::Encode(listed)).value("conditions", nlohmann::json());
  }
  return nlohmann::json{
      {"metadata", {{"resourceVersion", picture.resource_version}, {"uid", picture.uid}}},
      {"status", std::move(status)}}
      .dump();
}

void PictureWriter::Write(const Picture& picture, std::function<void(Status)> done) {
  in_flight_.insert(picture.name);
  const std::string patch = Patch(picture);
  writer_.PatchQuotaStatus(
      picture.name, patch,
      alive_.Guard([this, name = picture.name, uid = picture.uid, patch,
                    done = std::move(done)](Result<Written> answer) {
        in_flight_.erase(name);
        if (changed_.erase(name) > 0) {
          cache_.PictureAgain(name);
          Poke();
        }
        if (answer) {
          Taken(name);
          return done({});
        }
        const Error& error = answer.error();
        if (error.code() == Code::kNotFound) {  // the quota is gone, and with it the picture
          refusals_.erase(name);
          return done({});
        }
        Refused(name, uid, patch, error);
        done(std::unexpected(error));
      }));
}

struct PictureWriter::Batch {
  size_t open = 0;
  Status result;
  std::function<void(Status)> done;
  void Answer(const Status& status) {
    if (!status && result) result = status;
    if (--open == 0) done(result);
  }
};

void PictureWriter::WriteOne(const std::string& name, int tries, std::function<void(Status)> done) {
  const auto later = [this, name](Duration wait, int count, std::function<void(Status)> then) {
    loop_.RunAfter(wait, alive_.Guard([this, name, count, then = std::move(then)] {
      WriteOne(name, count, then);
    }));
  };
  const auto refusal = refusals_.find(name);
  const bool held = refusal != refusals_.end() && loop_.Now() < refusal->second.asked_for;
  if (in_flight_.contains(name) || held)
    return later(std::chrono::milliseconds(20), tries, std::move(done));
  const auto picture = cache_.PictureOf(name);
  if (!picture) return done({});
  Write(*picture, [later, tries, done = std::move(done)](const Status& status) {
    if (status || !Transient(status.error()) || tries >= kMaxTries) return done(status);
    later(std::max<Duration>(status.error().retry_after(), std::chrono::milliseconds(200)),
          tries + 1, done);
  });
}

void PictureWriter::WriteNow(const cache::Round& round, std::function<void(Status)> done) {
  auto batch = std::make_shared<Batch>();
  batch->done = std::move(done);
  std::set<std::string> names;
  for (const cache::RoundEntry& entry : round.entries)
    if (!entry.direct()) names.insert(entry.quota_name);
  batch->open = names.size() + 1;  // one for ourselves, so that nothing ends before all have begun
  for (const std::string& name : names)
    WriteOne(name, 1, [batch](Status status) { batch->Answer(status); });
  batch->Answer({});
}

}  // namespace sky::scheduler
