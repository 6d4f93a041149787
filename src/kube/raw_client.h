// SPDX-License-Identifier: Apache-2.0
// The operations of the Kubernetes API without types: a kind, names and JSON in, JSON out;
// kube/client.h puts types on top. Every call has a deadline, which bounds the local wait and goes
// out as ?timeout=. Reads are repeated on a cut connection and when the server says Retry-After;
// writes never, unless a 429 (not carried out) says so and the caller allows it. What an error says
// about a write: kube/transport.h and kube/api_status.h. Calls may come from any thread; `done`
// runs once, on the transport's loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/kinds.h"
#include "kube/api_status.h"
#include "kube/transport.h"

namespace sky::kube {

struct CallOptions {
  // Of the whole call, repeats included; of a list, of each page. What isn't positive fails at once
  // with kCancelled: there was no time to write (WriteTimeout in kube/election.h).
  Duration timeout = std::chrono::seconds(30);
  bool dry_run = false;          // dryRun=All: checked, not stored
  bool retry_throttled = false;  // a write answered by 429 with Retry-After is sent again in time
  Urgency urgency = Urgency::kOrdinary;
};

enum class Part { kObject, kStatus };  // kStatus: the status subresource

struct ListOptions {
  std::string ns = {};  // empty: all
  std::string label_selector = {}, field_selector = {};
  int64_t page_size = 500;  // 0: the whole list in one answer
};

struct ApplyOptions {
  std::string field_manager = {};
  bool force = false;  // takes fields over from other managers
};

struct DeleteOptions {
  std::string uid = {};  // precondition, as the next one; empty: any
  std::string resource_version = {};
  std::string propagation = {};  // "Background", "Foreground", "Orphan"; empty: the kind's default
  std::optional<int64_t> grace_period_seconds = {};
};

struct PodRef {
  std::string ns, name, uid;  // uid: precondition, must be set
};

// A list as its pages come in, so that no more than one page is held.
struct RawListCallbacks {
  std::move_only_function<void()> begin;  // again when the list had to start over: forget what came
  std::move_only_function<void(std::string_view)> item;
  Done<std::string> done;  // the list's resourceVersion
};

class RawClient {
 public:
  explicit RawClient(Transport& transport) : transport_(transport) {}
  Transport& transport() const { return transport_; }
  Loop& loop() const { return transport_.loop(); }

  // A consistent read: never older than what was acknowledged before the call.
  void Get(const api::Kind& kind, std::string_view ns, std::string_view name, CallOptions options,
           Done<std::string> done);
  // Consistent too; when a continue token expires, once more in one piece.
  void List(const api::Kind& kind, const ListOptions& list, CallOptions options,
            RawListCallbacks callbacks);
  void Create(const api::Kind& kind, std::string_view ns, std::string object, CallOptions options,
              Done<std::string> done);
  // PUT; the object must have its resourceVersion, and `meta` is what it says.
  void Update(const api::Kind& kind, const api::ObjectMeta& meta, Part part, std::string object,
              CallOptions options, Done<std::string> done);
  // RFC 7386. A metadata.resourceVersion in the patch makes it conditional.
  void MergePatch(const api::Kind& kind, std::string_view ns, std::string_view name, Part part,
                  std::string patch, CallOptions options, Done<std::string> done);
  // Server-side apply: creates or merges; apiVersion, kind and only the fields that are ours.
  void Apply(const api::Kind& kind, std::string_view ns, std::string_view name, Part part,
             std::string object, const ApplyOptions& apply, CallOptions options,
             Done<std::string> done);
  void Delete(const api::Kind& kind, std::string_view ns, std::string_view name,
              const DeleteOptions& del, CallOptions options, DoneStatus done);
  // Sets the pod's node and adds `annotations` to the pod, in one write.
  void Bind(const PodRef& pod, std::string_view node, const api::StringMap& annotations,
            CallOptions options, DoneStatus done);
  // kTooManyRequests also when a disruption budget forbids it. A wrong uid is kConflict at once for
  // a pod that runs; for one that doesn't, the API server tries again for ten seconds, so that the
  // timeout ends it with kUnknownOutcome: read the pod, its uid tells.
  void Evict(const PodRef& pod, CallOptions options, DoneStatus done);
  // Anything else, by the same rules ("/version").
  void Call(Request request, CallOptions options, Done<std::string> done);

 private:
  // Sends it, or ends it with what `check` found.
  void Checked(Status check, Request request, CallOptions options, Done<std::string> done);

  Transport& transport_;
};

// How long to wait before a request that ended so is sent again; nullopt: it isn't. `tries` counts
// those made. Pure.
std::optional<Duration> RepeatAfter(Method method, const CallOptions& options, const Error& error,
                                    bool answered, int tries);

}  // namespace sky::kube
