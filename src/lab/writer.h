// SPDX-License-Identifier: Apache-2.0
// Writes for the API server: create, update, the patches, delete, with everything that stands
// between a request and the store: identity, pruning, defaults, validation, generation,
// preconditions, finalizers, dryRun and deadlines. Borrowed by ApiServer, under its lock.
#pragma once

#include <functional>
#include <optional>

#include "base/rng.h"
#include "lab/call.h"
#include "lab/core_rules.h"
#include "lab/store.h"

namespace sky::lab {

struct DeleteOptions {
  std::optional<int64_t> grace_seconds;
  std::string uid, resource_version;  // preconditions
  std::string propagation;            // Background, Foreground, Orphan
  bool dry_run = false;
};

class Writer {
 public:
  Writer(Store& store, const Resources& resources, const Clock& clock, Rng& rng)
      : store_(store), resources_(resources), clock_(clock), rng_(rng) {}

  Answered<server::Response> Create(const Call& call);
  Answered<server::Response> Update(const Call& call);
  Answered<server::Response> Patch(const Call& call);
  Answered<server::Response> Delete(const Call& call);
  Answered<server::Response> DeleteCollection(const Call& call);

  // The body as a document; an empty one is an error. `duplicates` collects doubled members.
  static Answered<Json> Body(const Call& call, std::vector<std::string>& duplicates);

  // Changes the stored object to what `change` makes of it, under all rules of an update. The
  // answer is the new state. Used by every write that isn't a create or a delete; bindings and
  // evictions too.
  using Change = std::function<Answered<Json>(const Json& old)>;
  Answered<Json> Modify(const Call& call, const Change& change);
  // As the server itself: no rule but the revision stands in between.
  void Overwrite(const Resource& resource, Json document);

  // Its last state, or the state that waits for finalizers or a kubelet; `gone` tells which.
  Answered<Json> Remove(const Call& call, const DeleteOptions& options, bool& gone);

 private:
  Surroundings Around() const { return {store_, resources_, clock_.Wall()}; }
  Answered<Json> Decode(const Call& call, std::vector<std::string>& warnings);
  // `patched`: what a patch made; null for a body.
  Done Strict(const Call& call, std::vector<std::string> unknown,
              std::vector<std::string>& warnings, const Json* patched);
  Answered<server::Response> ApplyPatch(const Call& call);
  Answered<Json> Insert(const Call& call, Json document);
  Answered<Json> FinishUpdate(const Call& call, const Json& old, Json document);
  Done InTime(const Call& call) const;
  server::Response Reply(const Call& call, int status, const Json& document,
                         const std::vector<std::string>& warnings) const;
  // A namespace on its way out goes when nothing is left in it.
  void SweepNamespace(const std::string& ns);

  Store& store_;
  const Resources& resources_;
  const Clock& clock_;
  Rng& rng_;
};

}  // namespace sky::lab
