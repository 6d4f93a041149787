// SPDX-License-Identifier: Apache-2.0
// An informer against an API server that cuts, refuses, compacts, forgets and begins anew at
// random: in the end it holds exactly what the server holds, and what it told adds up.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <spdlog/spdlog.h>

#include <map>
#include <set>

#include "kube/informer.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;

// A collection with its history, served as the API server does, with faults.
class RandomServer final : public Transport {
 public:
  RandomServer(ManualClock& clock, uint64_t seed)
      : loop_(clock), rng_(seed), streaming_lists_(rng_.Below(2) == 0) {}

  ManualLoop& loop() override { return loop_; }
  bool faults = true;

  struct Object {
    std::string uid;
    int version = 0;
    bool bad = false;
  };
  const std::map<std::string, Object>& objects() const { return objects_; }

  void Send(Request request, Done<Response> done) override {
    loop_.RunAfter(Delay(), [this, request = std::move(request), done = std::move(done)]() mutable {
      if (Chance(15)) return done(Fail(Code::kUnknownOutcome, "cut"));
      if (Chance(15))
        return done(Response{static_cast<int>(rng_.Below(2) == 0 ? 500 : 429), {}, ""});
      done(Page(request));
    });
  }

  StreamId Open(Request request, StreamCallbacks callbacks) override {
    const StreamId id = ++last_stream_;
    streams_.emplace(id, Stream{std::move(request), std::move(callbacks)});
    loop_.RunAfter(Delay(), [this, id] { Begin(id); });
    return id;
  }

  void Close(StreamId id) override {
    if (streams_.contains(id)) End(id, Fail(Code::kCancelled, "closed"));
  }

  // Any change that a user could make, told to the open watches sooner or later.
  void Change() {
    const std::string name = fmt::format("q{}", rng_.Below(8));
    const auto held = objects_.find(name);
    const uint64_t what = rng_.Below(10);
    if (held == objects_.end()) {
      objects_[name] = {fmt::format("u{}", ++last_uid_), ++version_, rng_.Below(6) == 0};
      Record("ADDED", name, objects_[name]);
    } else if (what < 6) {
      held->second.version = ++version_;
      held->second.bad = rng_.Below(6) == 0;
      Record("MODIFIED", name, held->second);
    } else {
      held->second.version = ++version_;
      Record("DELETED", name, held->second);
      objects_.erase(held);
    }
  }

  void Trouble() {
    if (streams_.empty()) return;
    const StreamId id = streams_.begin()->first;
    switch (rng_.Below(8)) {
      case 0:
        End(id, Response{200, {}, ""});
        break;
      case 1:
        End(id, Fail(Code::kUnknownOutcome, "cut"));
        break;
      case 2:
        compacted_ = version_;
        break;  // the history before it is gone
      case 3:
        Tell(id, R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})"
                 "\n");
        break;
      case 4:
        Tell(id, R"({"type":"ERROR","object":{"kind":"Status","code":500}})"
                 "\n");
        break;
      case 5:
        Tell(id,
             "\n"
             R"({"type":"SHUFFLED","object":{"metadata":{"resourceVersion":"999999"}}})"
             "\n");
        break;
      case 6:
        Bookmark(id);
        break;
      default:
        Tell(id, R"({"type":"ADDED","object":{"metadata")");
        End(id, Response{200, {}, ""});
    }
  }
  // Another life under the same address: its versions are far from those of this one, and what it
  // makes of those is up to it.
  void Restart() {
    while (!streams_.empty()) End(streams_.begin()->first, Fail(Code::kUnknownOutcome, "cut"));
    version_ += rng_.Below(2) == 0 ? 10'000 : -10'000;
    compacted_ = version_;
    future_ = static_cast<Future>(rng_.Below(3));
    history_.clear();
    for (auto& [name, object] : objects_) {
      object.version = ++version_;
      if (rng_.Below(2) == 0) object.uid = fmt::format("u{}", ++last_uid_);
    }
    Change();
  }
  // A server tells the version that it is at about every minute.
  void Bookmarks() {
    std::vector<StreamId> open;
    for (const auto& [id, stream] : streams_) open.push_back(id);
    for (const StreamId id : open)
      if (streams_.contains(id)) Bookmark(id);
  }
  // The last events may still wait to be sent.
  void Settle() {
    faults = false;
    while (!streams_.empty()) End(streams_.begin()->first, Response{200, {}, ""});
  }

 private:
  // What a watch from a version that is still to come gets.
  enum class Future { kTooLarge, kExpired, kWhatComes };
  static constexpr std::string_view kTooLarge =
      R"({"kind":"Status","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})";

  struct Stream {
    Request request;
    StreamCallbacks callbacks;
    bool live = false;
    bool dead = false;
  };

  bool Chance(uint64_t percent) { return faults && rng_.Below(100) < percent; }
  Duration Delay() { return std::chrono::milliseconds(rng_.Below(faults ? 3000 : 20)); }

  static std::string Json(const std::string& name, const Object& object) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}","uid":"{}","resourceVersion":"{}"}},"spec":{{"weight":{}}}}})",
        name, object.uid, object.version, object.bad ? "\"heavy\"" : "1");
  }
  static std::string Value(const Request& request, std::string_view name) {
    for (const auto& [key, value] : request.query)
      if (key == name) return value;
    return "";
  }

  // Pages of a list show the state of the first page; a compaction in between expires them.
  Response Page(const Request& request) {
    const std::string token = Value(request, "continue"), limit = Value(request, "limit");
    if (token.empty()) {
      list_ = objects_;
      list_version_ = version_;
    } else if (list_version_ < compacted_) {
      return {410, {}, ""};
    }
    const size_t most = limit.empty() ? list_.size() : std::stoul(limit);
    std::string items, next;
    size_t count = 0;
    for (const auto& [name, object] : list_) {
      if (name <= token) continue;
      if (count++ == most) {
        next = std::prev(list_.find(name))->first;
        break;
      }
      items += (items.empty() ? "" : ",") + Json(name, object);
    }
    return {200,
            {},
            fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
                        list_version_, next, items)};
  }

  void Begin(StreamId id) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    const Request& request = found->second.request;
    if (Chance(10))
      return End(id, Response{static_cast<int>(rng_.Below(2) == 0 ? 429 : 503), {}, ""});
    if (Chance(10)) return End(id, Fail(Code::kUnavailable, "refused"));
    const std::string version = Value(request, "resourceVersion");
    if (!Value(request, "sendInitialEvents").empty()) {
      if (!streaming_lists_) return End(id, Response{422, {}, ""});
      found->second.live = true;
      const auto now = objects_;
      for (const auto& [name, object] : now)
        Tell(id, fmt::format("{{\"type\":\"ADDED\",\"object\":{}}}\n", Json(name, object)));
      if (Chance(20)) return End(id, Response{200, {}, ""});
      Tell(
          id,
          fmt::format(
              R"({{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"{}","annotations":{{"k8s.io/initial-events-end":"true"}}}}}}}})"
              "\n",
              version_));
      return;
    }
    const int from = std::stoi(version);
    if (from > version_ && future_ == Future::kTooLarge)
      return End(id, Response{504, {}, std::string(kTooLarge)});
    if (from > version_ && future_ == Future::kExpired) return End(id, Response{410, {}, ""});
    if (from < compacted_) {
      if (rng_.Below(2) == 0) return End(id, Response{410, {}, ""});
      return Tell(id, R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Gone"}})"
                      "\n");
    }
    found->second.live = true;  // of what is still to come: of all that happens from now on
    for (const auto& [at, line] : history_)
      if (at > from) Tell(id, line);
  }

  void Record(const char* type, const std::string& name, const Object& object) {
    const std::string line =
        fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, Json(name, object));
    history_.emplace(version_, line);
    std::vector<StreamId> live;
    for (const auto& [id, stream] : streams_)
      if (stream.live) live.push_back(id);
    for (const StreamId id : live) Tell(id, line);
  }

  void Bookmark(StreamId id) {
    if (streams_.at(id).live)
      Tell(id,
           fmt::format(R"({{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"{}"}}}}}})"
                       "\n",
                       version_));
  }

  // In pieces, as a network does.
  void Tell(StreamId id, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto found = streams_.find(id);
      if (found == streams_.end()) return;
      const size_t length = 1 + rng_.Below(bytes.size());
      auto on_bytes = std::move(found->second.callbacks.on_bytes);
      on_bytes(bytes.substr(0, length));
      if (const auto again = streams_.find(id); again != streams_.end())
        again->second.callbacks.on_bytes = std::move(on_bytes);
      bytes.remove_prefix(length);
    }
  }

  void End(StreamId id, Result<Response> end) {
    auto on_end = std::move(streams_.at(id).callbacks.on_end);
    streams_.erase(id);
    loop_.Post(
        [on_end = std::move(on_end), end = std::move(end)]() mutable { on_end(std::move(end)); });
  }

  ManualLoop loop_;
  Rng rng_;
  const bool streaming_lists_;
  std::map<std::string, Object> objects_, list_;
  std::map<int, std::string> history_;
  int version_ = 1'000'000, compacted_ = 0, list_version_ = 0, last_uid_ = 0;
  Future future_ = Future::kTooLarge;
  std::map<StreamId, Stream> streams_;
  StreamId last_stream_ = 0;
};

// Checks each delta against what was told before.
struct Ledger {
  std::map<std::string, std::shared_ptr<const api::Queue>> told;
  std::set<std::string> bad;
  int adds = 0, deletes = 0;
  bool synced = false;

  void OnDelta(const api::Delta<api::Queue>& delta) {
    using Type = api::Delta<api::Queue>::Type;
    const std::string key = delta.object->metadata.Key();
    const auto held = told.find(key);
    if (delta.type == Type::kAdd) {
      ++adds;
      RC_ASSERT(held == told.end());
      RC_ASSERT(delta.old == nullptr);
      told[key] = delta.object;
      return;
    }
    RC_ASSERT(held != told.end());
    RC_ASSERT(held->second == delta.old);
    RC_ASSERT(delta.object->metadata.uid == delta.old->metadata.uid);
    if (delta.type == Type::kUpdate) {
      RC_ASSERT(delta.object->metadata.resource_version != delta.old->metadata.resource_version);
      held->second = delta.object;
    } else {
      ++deletes;
      told.erase(held);
    }
  }
};

std::string Say(const api::Queue& queue) {
  return queue.metadata.uid + "@" + queue.metadata.resource_version;
}

// What a server, an informer and what it told say of the same objects.
void CheckEqual(const RandomServer& server, const Informer<api::Queue>& informer,
                const Ledger& ledger) {
  std::map<std::string, std::string> expected, held, told;
  std::set<std::string> expected_bad;
  for (const auto& [name, object] : server.objects()) {
    if (object.bad)
      expected_bad.insert(name);
    else
      expected[name] = fmt::format("{}@{}", object.uid, object.version);
  }
  for (const auto& [key, object] : informer.objects()) {
    if (!expected_bad.contains(key))
      held[key] = Say(*object);
    else  // its last good state, of the same life
      RC_ASSERT(object->metadata.uid == server.objects().at(key).uid);
  }
  for (const auto& [key, object] : ledger.told)
    if (!expected_bad.contains(key)) told[key] = Say(*object);
  RC_ASSERT(informer.HasSynced());
  RC_ASSERT(ledger.synced);
  RC_ASSERT(held == expected);
  RC_ASSERT(told == expected);
  RC_ASSERT(ledger.bad == expected_bad);
  RC_ASSERT(static_cast<size_t>(ledger.adds - ledger.deletes) == informer.objects().size());
}

RC_GTEST_PROP(ReflectorLaw, WheneverItIsQuietTheInformerHoldsWhatTheServerHolds, (uint64_t seed)) {
  spdlog::set_level(spdlog::level::off);
  ManualClock clock;
  RandomServer server(clock, seed);
  Client client(server);
  Rng rng(seed + 1);
  Ledger ledger;
  InformerCallbacks<api::Queue> callbacks;
  callbacks.on_delta = [&](const api::Delta<api::Queue>& delta) { ledger.OnDelta(delta); };
  callbacks.on_synced = [&] {
    RC_ASSERT(!ledger.synced);
    ledger.synced = true;
  };
  callbacks.on_bad = [&](const std::string& key, const std::optional<BadItem>& bad) {
    if (bad)
      ledger.bad.insert(key);
    else
      ledger.bad.erase(key);
  };
  Informer<api::Queue> informer(client, {.page_size = 3, .seed = seed}, std::move(callbacks));
  informer.Start();
  for (int round = 0; round < 12; ++round) {
    for (int step = 0; step < 12; ++step) {
      if (rng.Below(3) != 0) server.Change();
      if (rng.Below(4) == 0) server.Trouble();
      if (rng.Below(3) == 0) server.loop().Advance(std::chrono::milliseconds(rng.Below(4000)));
    }
    if (rng.Below(4) == 0) server.Restart();
    server.Settle();
    server.loop().Advance(1min);
    server.Bookmarks();
    server.loop().Advance(4min);
    CheckEqual(server, informer, ledger);
    server.faults = true;
  }
}

}  // namespace
}  // namespace sky::kube
