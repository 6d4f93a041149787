// SPDX-License-Identifier: Apache-2.0
// A Transport that counts and times what goes through it, by verb, resource and outcome: for
// /metrics. It stands between the client and the HttpClient, so a time includes waiting for a free
// connection, and each try of a repeated call is one request. Lives on the transport's loop; its
// stats are for any thread.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <mutex>
#include <string>

#include "kube/transport.h"

namespace sky::kube {

struct RequestKind {
  std::string verb;      // as rights name them: get, list, watch, create, update, patch, delete
  std::string resource;  // "pods", "pods/binding"; "other" where the path names none
  auto operator<=>(const RequestKind&) const = default;
};
RequestKind KindOfRequest(const Request& request, bool stream);

class RequestStats {
 public:
  // Upper bounds of the buckets, in seconds.
  static constexpr std::array<double, 12> kBounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                     0.5,   1,    2.5,   5,    10,  30};
  struct Times {
    uint64_t count = 0;
    double seconds = 0;                                // their sum
    std::array<uint64_t, kBounds.size()> within = {};  // each bound, so it never falls
  };
  struct Outcome {
    RequestKind kind;
    std::string code;  // "201", or what is known without an answer: "UnknownOutcome"
    auto operator<=>(const Outcome&) const = default;
  };
  struct Snapshot {
    std::map<Outcome, Times> requests;  // of a watch: how long it lasted
    std::map<RequestKind, uint64_t> repeats;
  };

  void Note(Outcome outcome, Duration took);
  void NoteRepeat(const RequestKind& kind);
  Snapshot Read() const;

 private:
  mutable std::mutex mutex_;
  Snapshot now_;
};

class MeasuredTransport final : public Transport {
 public:
  explicit MeasuredTransport(Transport& inner) : inner_(inner) {}

  Loop& loop() override { return inner_.loop(); }
  void Send(Request request, Done<Response> done) override;
  StreamId Open(Request request, StreamCallbacks callbacks) override;
  void Close(StreamId id) override { inner_.Close(id); }

  std::shared_ptr<const RequestStats> stats() const { return stats_; }

 private:
  Done<Response> Timed(RequestKind kind, Done<Response> done);

  Transport& inner_;
  std::shared_ptr<RequestStats> stats_ = std::make_shared<RequestStats>();
};

}  // namespace sky::kube
