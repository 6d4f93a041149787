// SPDX-License-Identifier: Apache-2.0
#include "kube/events.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace sky::kube {
namespace {

constexpr Duration kSweepPeriod = std::chrono::minutes(1);
constexpr size_t kMostName = 253, kNameSuffix = 17;

std::string Identity(const api::ObjectReference& object) {
  return fmt::format("{}/{}/{}/{}/{}", object.api_version, object.kind, object.namespace_,
                     object.name, object.uid);
}

std::string SeriesPatch(int32_t count, WallTime last_seen) {
  return fmt::format(R"({{"series":{{"count":{},"lastObservedTime":"{}"}}}})", count,
                     FormatMicroTime(last_seen));
}

}  // namespace

std::string CutNote(std::string_view note, size_t most) { return std::string(CutText(note, most)); }

EventRecorder::EventRecorder(Client& client, EventOptions options)
    : client_(client), options_(std::move(options)) {}

EventRecorder::~EventRecorder() { client_.loop().Cancel(sweep_timer_); }

void EventRecorder::Record(EventNote note) {
  if (posted_.fetch_add(1, std::memory_order_relaxed) >= options_.queue) {
    posted_.fetch_sub(1, std::memory_order_relaxed);
    ++stats_.dropped_full;
    return;
  }
  client_.loop().Post(lifeline_.Guard([this, note = std::move(note)]() mutable {
    posted_.fetch_sub(1, std::memory_order_relaxed);
    Take(std::move(note));
  }));
}

EventRecorder::Key EventRecorder::KeyOf(const EventNote& note) {
  return {note.type, note.action, note.reason, Identity(note.regarding),
          note.related ? Identity(*note.related) : std::string()};
}

void EventRecorder::Take(EventNote note) {
  Key key = KeyOf(note);
  const auto found = series_.find(key);
  if (found == series_.end()) return Begin(key, std::move(note));
  Series& series = found->second;
  ++stats_.counted;
  ++series.count;
  series.last_seen = client_.loop().clock().Wall();
  series.last_used = client_.loop().Now();
  EnqueueIfDue(key, series);
}

void EventRecorder::Begin(const Key& key, EventNote note) {
  if (queue_.size() >= options_.queue) {
    ++stats_.dropped_full;
    return;
  }
  if (!Allow(note)) {
    ++stats_.dropped_rate;
    return;
  }
  if (series_.size() >= options_.series) ForgetLongestUnused();
  Series& series = series_[key];
  series.event = MakeEvent(std::move(note));
  series.last_seen = client_.loop().clock().Wall();
  series.last_used = series.last_sent = client_.loop().Now();
  EnqueueIfDue(key, series);
  ArmSweep();
}

bool EventRecorder::Allow(const EventNote& note) {
  const MonoTime now = client_.loop().Now();
  if (note.type == EventNote::Type::kNormal) {
    const auto crowd = crowds_.try_emplace(note.regarding.kind, Bucket{options_.crowd, now}).first;
    if (!Draw(crowd->second, options_.crowd, options_.crowd_refill)) return false;
  }
  const auto own =
      buckets_.try_emplace(Identity(note.regarding), Bucket{options_.burst, now}).first;
  return Draw(own->second, options_.burst, options_.refill);
}

// A bucket of `burst` tokens, refilled by one in each `refill`.
bool EventRecorder::Draw(Bucket& bucket, double burst, Duration refill) const {
  const MonoTime now = client_.loop().Now();
  const double refilled =
      std::chrono::duration<double>(now - bucket.filled) / std::chrono::duration<double>(refill);
  bucket = {std::min(burst, bucket.tokens + refilled), now};
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

api::Event EventRecorder::MakeEvent(EventNote note) {
  api::Event event;
  event.metadata.namespace_ =
      note.regarding.namespace_.empty() ? "default" : note.regarding.namespace_;
  event.metadata.name = NewName(note.regarding);
  event.event_time.at = client_.loop().clock().Wall();
  event.reporting_controller = options_.controller;
  event.reporting_instance = options_.instance;
  event.action = std::move(note.action);
  event.reason = std::move(note.reason);
  event.note = CutNote(note.note);
  event.type = note.type == EventNote::Type::kWarning ? "Warning" : "Normal";
  event.regarding = std::move(note.regarding);
  event.related = std::move(note.related);
  return event;
}

// "worker-3.18a2b4c6d8e0f123": the time of its making, never the same twice.
std::string EventRecorder::NewName(const api::ObjectReference& object) {
  last_name_ = std::max(last_name_ + 1, client_.loop().clock().Wall().time_since_epoch().count());
  return fmt::format("{}.{:x}", object.name.substr(0, kMostName - kNameSuffix), last_name_);
}

void EventRecorder::ForgetLongestUnused() {
  const auto oldest = std::ranges::min_element(
      series_, {}, [](const auto& entry) { return entry.second.last_used; });
  series_.erase(oldest);
}

// The first time, the first repetition, and then now and then.
bool EventRecorder::Due(const Series& series) const {
  if (series.told == 0) return true;
  if (series.count == series.told) return false;
  const MonoTime now = client_.loop().Now();
  return series.told == 1 || now - series.last_sent >= options_.flush_period ||
         now - series.last_used >= options_.idle_end;
}

void EventRecorder::EnqueueIfDue(const Key& key, Series& series) {
  if (series.waiting || !Due(series)) return;
  series.waiting = true;
  queue_.push_back(key);
  SendNext();
}

void EventRecorder::SendNext() {
  while (in_flight_ < options_.in_flight && !queue_.empty()) {
    const Key key = std::move(queue_.front());
    queue_.pop_front();
    const auto found = series_.find(key);
    if (found != series_.end()) Send(key, found->second);
  }
}

void EventRecorder::Send(const Key& key, Series& series) {
  ++in_flight_;
  series.last_sent = client_.loop().Now();
  auto done = lifeline_.Guard([this, key, count = series.count](Result<api::Event> result) {
    OnSent(key, count, std::move(result));
  });
  const CallOptions call{.timeout = options_.timeout};
  if (series.told == 0) {
    if (series.count > 1) series.event.series = api::EventSeries{series.count, {series.last_seen}};
    client_.Create<api::Event>(series.event, call, std::move(done));
  } else {
    const api::ObjectMeta& meta = series.event.metadata;
    client_.MergePatch<api::Event>(meta.namespace_, meta.name, Part::kObject,
                                   SeriesPatch(series.count, series.last_seen), call,
                                   std::move(done));
  }
}

void EventRecorder::OnSent(const Key& key, int32_t count, Result<api::Event> result) {
  --in_flight_;
  const auto found = series_.find(key);
  if (found != series_.end()) {
    Series& series = found->second;
    // AlreadyExists: an earlier try, whose answer was lost, had made it.
    if (result || (series.told == 0 && result.error().code() == Code::kAlreadyExists)) {
      ++stats_.sent;
      series.told = count;
      series.failures = 0;
      series.waiting = false;
      EnqueueIfDue(key, series);
    } else if (series.told > 0 && result.error().code() == Code::kNotFound) {
      series.told = 0;  // the API server has let it expire: a new one
      series.event.metadata.name = NewName(series.event.regarding);
      series.waiting = false;
      EnqueueIfDue(key, series);
    } else {
      OnFailure(key, result.error());
    }
  }
  SendNext();
}

void EventRecorder::OnFailure(const Key& key, const Error& error) {
  Series& series = series_.at(key);
  const bool passing = error.code() == Code::kUnavailable ||
                       error.code() == Code::kUnknownOutcome ||
                       error.code() == Code::kTooManyRequests;
  if (!passing || ++series.failures >= options_.tries) {
    spdlog::warn("event {} of {}: {}", series.event.reason, series.event.regarding.name,
                 error.message());
    ++stats_.failed;
    series_.erase(key);
    return;
  }
  const Duration wait = std::max<Duration>(options_.retry_wait, error.retry_after());
  client_.loop().RunAfter(wait, lifeline_.Guard([this, key] {
    queue_.push_back(key);
    SendNext();
  }));
}

void EventRecorder::ArmSweep() {
  if (sweep_timer_ == 0)
    sweep_timer_ = client_.loop().RunAfter(kSweepPeriod, lifeline_.Guard([this] { Sweep(); }));
}

void EventRecorder::Sweep() {
  sweep_timer_ = 0;
  const MonoTime now = client_.loop().Now();
  for (auto next = series_.begin(); next != series_.end();) {
    const auto entry = next++;
    Series& series = entry->second;
    const bool told = !series.waiting && series.count == series.told;
    if (told && now - series.last_used >= options_.idle_end)
      series_.erase(entry);
    else
      EnqueueIfDue(entry->first, series);
  }
  std::erase_if(buckets_, [&](const auto& entry) {
    const double missing = options_.burst - entry.second.tokens;
    return now - entry.second.filled >=
           std::chrono::duration_cast<Duration>(options_.refill * missing);
  });
  if (!series_.empty() || !buckets_.empty()) ArmSweep();
}

}  // namespace sky::kube
