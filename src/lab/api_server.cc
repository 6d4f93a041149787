// SPDX-License-Identifier: Apache-2.0
#include "lab/api_server.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lab/discovery.h"
#include "lab/in_process.h"
#include "lab/meta_rules.h"
#include "lab/reviews.h"

namespace sky::lab {
namespace {

Json Named(const char* api_version, const char* kind, std::string_view name) {
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}};
}

}  // namespace

ApiServer::ApiServer(ApiServerOptions options, const Clock& clock, const CustomKinds& kinds)
    : options_(options),
      clock_(clock),
      rng_(options.seed),
      store_(options.history_limit, options.first_revision),
      resources_(kinds, store_),
      reader_(store_, clock),
      writer_(store_, resources_, clock, rng_),
      pods_(store_, resources_, clock, writer_),
      collector_(store_, resources_, clock, writer_) {
  Populate(kinds);
}

ApiServer::~ApiServer() = default;

// What stands in every cluster before anybody writes.
void ApiServer::Populate(const CustomKinds& kinds) {
  InProcess client(*this, "sky-lab/" SKY_VERSION);
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease",
                           "sky-system"})  // where our own programs keep their leases
    client.Post("/api/v1/namespaces", Named("v1", "Namespace", name));
  for (const auto& [name, value] : {std::pair("system-cluster-critical", 2'000'000'000),
                                    std::pair("system-node-critical", 2'000'001'000)}) {
    Json document = Named("scheduling.k8s.io/v1", "PriorityClass", name);
    document["value"] = value;
    client.Post("/apis/scheduling.k8s.io/v1/priorityclasses", document);
  }
  // What they define is served from the start, so they can't be created; see Check().
  const Resource& kind = *resources_.Get("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  for (Json crd : kinds.documents()) {
    const std::string now = FormatTime(clock_.Wall());
    Json& metadata = MapAt(crd, {"metadata"});
    metadata["uid"] = MakeUid(rng_);
    metadata["creationTimestamp"] = now;
    metadata["generation"] = 1;
    crd["status"] = {{"acceptedNames", crd["spec"]["names"]},
                     {"storedVersions", Json::array({crd["spec"]["versions"][0]["name"]})}};
    for (const char* type : {"NamesAccepted", "Established"})
      crd["status"]["conditions"].push_back(
          {{"type", type}, {"status", "True"}, {"lastTransitionTime", now}, {"reason", "BuiltIn"}});
    store_.Put(kind.stored_as, crd);
  }
}

bool ApiServer::IsWatch(const server::Request& request) const {
  if (request.method != "GET") return false;
  const std::string_view watch = request.target.QueryOr("watch");
  if (watch != "true" && watch != "1") return false;
  const auto path = ParseResourcePath(resources_, request.target);
  return path && path->name.empty();
}

server::Response ApiServer::Handle(const server::Request& request) {
  return Handle(request, clock_.Mono());
}

server::Response ApiServer::Handle(const server::Request& request, MonoTime received) {
  if (request.method == "GET")
    if (auto response = Discover(resources_, request)) return *std::move(response);
  if (auto response = AnswerReview(request)) return *std::move(response);
  const std::lock_guard lock(mutex_);
  auto answered = Serve(request, received);
  return answered ? *std::move(answered) : ToResponse(answered.error());
}

Answered<server::Response> ApiServer::Serve(const server::Request& request, MonoTime received) {
  const Call call = TRY(Understand(resources_, request, received));
  return Dispatch(call);
}

Answered<server::Response> ApiServer::Dispatch(const Call& call) {
  switch (call.verb) {
    case Verb::kGet:
      return reader_.Get(call);
    case Verb::kList:
      return reader_.List(call);
    case Verb::kCreate:
      if (call.subresource == "binding") return pods_.Bind(call);
      if (call.subresource == "eviction") return pods_.Evict(call);
      return writer_.Create(call);
    case Verb::kUpdate:
      return writer_.Update(call);
    case Verb::kPatch:
      return writer_.Patch(call);
    case Verb::kDelete:
      return writer_.Delete(call);
    case Verb::kDeleteCollection:
      return writer_.DeleteCollection(call);
    case Verb::kWatch:
      break;
  }
  return std::unexpected(BadRequest("a watch must be read as a stream"));
}

Answered<ApiServer::WatchId> ApiServer::StartWatch(const server::Request& request, WatchSink sink) {
  const std::lock_guard lock(mutex_);
  DropClosedWatches();
  Call call = TRY(Understand(resources_, request, clock_.Mono()));
  Selection selection = TRY(Selection::Of(call));
  const WatchOptions options = TRY(ReadWatchOptions(call, store_.revision(), rng_));
  auto watch = std::make_unique<Watch>(std::move(call), std::move(selection), options, store_,
                                       clock_, options_.bookmark_every, std::move(sink));
  const WatchId id = next_watch_++;
  if (!watch->closed()) watches_[id] = std::move(watch);
  return id;
}

void ApiServer::Unwatch(WatchId id) {
  const std::lock_guard lock(mutex_);
  watches_.erase(id);
}

void ApiServer::DropClosedWatches() {
  std::erase_if(watches_, [](const auto& entry) { return entry.second->closed(); });
}

void ApiServer::Tick() {
  const std::lock_guard lock(mutex_);
  if (options_.garbage_collector) collector_.Run();
  if (options_.disruption_controller && counted_at_ != store_.revision()) {
    pods_.CountBudgets();
    counted_at_ = store_.revision();
  }
  for (const auto& [id, watch] : watches_) watch->Tick();
  DropClosedWatches();
}

MonoTime ApiServer::next_due() const {
  const std::lock_guard lock(mutex_);
  MonoTime due = MonoTime::max();
  for (const auto& [id, watch] : watches_) due = std::min(due, watch->next_due());
  return due;
}

Revision ApiServer::revision() const {
  const std::lock_guard lock(mutex_);
  return store_.revision();
}

void ApiServer::Compact() {
  const std::lock_guard lock(mutex_);
  store_.Compact(store_.revision());
}

void ApiServer::CloseWatches() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, watch] : watches_) watch->Close();
  watches_.clear();
}

}  // namespace sky::lab
