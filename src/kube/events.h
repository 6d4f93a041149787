// SPDX-License-Identifier: Apache-2.0
// Events (events.k8s.io/v1) for people: said once, then counted. Equal events are one series: the
// first is POSTed, its first repetition PATCHes the series in, later ones are only counted and told
// every flush_period; a series idle for idle_end is told a last time and forgotten. Nothing here
// ever blocks or matters: the queue is bounded and what doesn't fit is dropped, as is what one
// object says too often, and what is normal in a crowd: a thousand pods that start together would
// be a thousand writes that nobody reads. Record is for any thread; the rest is a state machine on
// the transport's loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "api/core.h"
#include "kube/client.h"

namespace sky::kube {

struct EventNote {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;  // "Scheduled": an UpperCamelCase word
  std::string action;  // "Binding": what was being done
  std::string
      note;  // for a person; longer than 1,024 bytes it is cut. Not a part of the series' identity
  api::ObjectReference regarding;
  std::optional<api::ObjectReference> related;
};

struct EventOptions {
  std::string controller = {};  // "sky-scheduler"
  std::string instance = {};    // unique per process
  size_t queue = 1000;          // that wait to be sent
  size_t in_flight = 4;
  size_t series = 4096;                       // remembered at a time
  double burst = 25;                          // different events of one object at once, …
  Duration refill = std::chrono::minutes(5);  // … and one more after this time
  double crowd = 100;                         // normal events of all objects of a kind at once, …
  Duration crowd_refill = std::chrono::milliseconds(100);  // … and one more after this time
  Duration flush_period = std::chrono::minutes(30);
  Duration idle_end = std::chrono::minutes(6);
  Duration timeout = std::chrono::seconds(10);
  Duration retry_wait = std::chrono::seconds(10);
  int tries = 4;
};

// Readable from any thread.
struct EventStats {
  std::atomic<uint64_t> sent{0}, counted{0}, dropped_full{0}, dropped_rate{0}, failed{0};
};

// The longest beginning of whole UTF-8 characters that fits.
std::string CutNote(std::string_view note, size_t most = 1024);

class EventRecorder {
 public:
  EventRecorder(Client& client, EventOptions options);
  ~EventRecorder();  // on the loop, or when it has ended; what waits is lost
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void Record(EventNote note);
  const EventStats& stats() const { return stats_; }

 private:
  using Key = std::tuple<EventNote::Type, std::string, std::string, std::string, std::string>;
  struct Series {
    api::Event event;  // as it is POSTed
    int32_t count = 1;
    int32_t told = 0;  // the count that the API server has; 0: it has no event
    WallTime last_seen;
    MonoTime last_used, last_sent;
    bool waiting = false;  // in the queue, in flight or for its next try
    int failures = 0;
  };
  struct Bucket {
    double tokens;
    MonoTime filled;
  };

  static Key KeyOf(const EventNote& note);
  void Take(EventNote note);
  void Begin(const Key& key, EventNote note);
  bool Allow(const EventNote& note);
  bool Draw(Bucket& bucket, double burst, Duration refill) const;
  api::Event MakeEvent(EventNote note);
  std::string NewName(const api::ObjectReference& object);
  void ForgetLongestUnused();

  bool Due(const Series& series) const;
  void EnqueueIfDue(const Key& key, Series& series);
  void SendNext();
  void Send(const Key& key, Series& series);
  void OnSent(const Key& key, int32_t count, Result<api::Event> result);
  void OnFailure(const Key& key, const Error& error);
  void ArmSweep();
  void Sweep();

  Client& client_;
  const EventOptions options_;
  EventStats stats_;
  std::atomic<size_t> posted_{0};  // recorded and not yet taken by the loop
  Lifeline lifeline_;
  std::map<Key, Series> series_;
  std::unordered_map<std::string, Bucket> buckets_;  // by object
  std::map<std::string, Bucket> crowds_;             // by kind
  std::deque<Key> queue_;
  size_t in_flight_ = 0;
  int64_t last_name_ = 0;
  TimerId sweep_timer_ = 0;
};

}  // namespace sky::kube
