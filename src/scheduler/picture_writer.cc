// SPDX-License-Identifier: Apache-2.0
#include "scheduler/picture_writer.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "api/json.h"

namespace sky::scheduler {

using cache::Picture;
using cache::Written;

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
      if (held_.contains(picture.name)) continue;  // comes again when its wait is over
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
  ++waiting_;
  loop_.RunAt(at, alive_.Guard([this, name] {
    --waiting_;
    cache_.PictureAgain(name);
    Poke();
  }));
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
  return nlohmann::json{
      {"metadata", {{"resourceVersion", picture.resource_version}, {"uid", picture.uid}}},
      {"status", std::move(status)}}
      .dump();
}

void PictureWriter::Write(const Picture& picture, std::function<void(Status)> done) {
  in_flight_.insert(picture.name);
  writer_.PatchQuotaStatus(
      picture.name, Patch(picture),
      alive_.Guard([this, name = picture.name, done = std::move(done)](Result<Written> answer) {
        in_flight_.erase(name);
        if (changed_.erase(name) > 0) {
          cache_.PictureAgain(name);
          Poke();
        }
        if (answer) {
          ++written_;
          return done({});
        }
        const Error& error = answer.error();
        if (error.code() == Code::kNotFound)
          return done({});  // the quota is gone, and with it the picture
        // A conflict is a race with a change that is still on its way here, its own last write too.
        spdlog::log(error.code() == Code::kConflict ? spdlog::level::debug : spdlog::level::warn,
                    "status of quota {} not written: {}", name, error.message());
        Hold(name, error.retry_after());
        AgainAt(loop_.Now() + std::max<Duration>(error.retry_after(), std::chrono::seconds(1)),
                name);
        done(std::unexpected(error));
      }));
}

// The server asked to be left alone that long: whatever brings this quota here, it waits.
void PictureWriter::Hold(const std::string& name, Duration wait) {
  if (wait <= Duration::zero()) return;
  held_.insert(name);
  loop_.RunAfter(wait, alive_.Guard([this, name] { held_.erase(name); }));
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

namespace {

// Not a refusal: the same status, painted anew, may well be taken.
bool Transient(const Error& error) {
  return error.code() == Code::kConflict || error.code() == Code::kTooManyRequests ||
         error.code() == Code::kUnknownOutcome || error.code() == Code::kUnavailable;
}

}  // namespace

void PictureWriter::WriteOne(const std::string& name, int tries, std::function<void(Status)> done) {
  const auto later = [this, name](Duration wait, int count, std::function<void(Status)> then) {
    ++waiting_;
    loop_.RunAfter(wait, alive_.Guard([this, name, count, then = std::move(then)] {
      --waiting_;
      WriteOne(name, count, then);
    }));
  };
  if (in_flight_.contains(name) || held_.contains(name))
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
  for (const cache::RoundEntry& entry : round.entries) names.insert(entry.quota_name);
  batch->open = names.size() + 1;  // one for ourselves, so that nothing ends before all have begun
  for (const std::string& name : names)
    WriteOne(name, 1, [batch](Status status) { batch->Answer(status); });
  batch->Answer({});
}

}  // namespace sky::scheduler
