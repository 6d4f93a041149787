// SPDX-License-Identifier: Apache-2.0
#include "load/cluster.h"

#include <utility>

#include "kube/watch_decoder.h"

namespace sky::load {
namespace {

constexpr kube::CallOptions kCall{.timeout = std::chrono::minutes(1), .retry_throttled = true};
constexpr int kMostTries = 4;

std::string Plural(const api::Kind& kind) { return std::string(kind.plural); }

}  // namespace

std::vector<const api::Kind*> Cluster::KindsMade() {
  return {&api::KindOf<api::Pod>(),   &api::KindOf<api::PodGroup>(),     &api::KindOf<api::Quota>(),
          &api::KindOf<api::Queue>(), &api::KindOf<api::NodeTopology>(), &api::KindOf<api::Node>()};
}

Result<std::vector<Cluster::Found>> Cluster::Find(const api::Kind& kind) {
  std::vector<Found> found;
  Status read;
  const kube::ListOptions list{.label_selector = std::string(kMadeSelector)};
  const auto listed = kube::Await<std::string>([&](kube::Done<std::string> done) {
    kube::RawListCallbacks callbacks;
    callbacks.begin = [&found] { found.clear(); };
    callbacks.item = [&](std::string_view json) {
      auto meta = kube::ParseMeta(json);
      if (meta)
        found.push_back({&kind, std::move(*meta)});
      else
        read = std::unexpected(std::move(meta).error());
    };
    callbacks.done = std::move(done);
    client_.raw().List(kind, list, kCall, std::move(callbacks));
  });
  // A cluster without our CRDs has none of them.
  if (!listed && listed.error().code() == Code::kNotFound) return found;
  if (!listed) return std::unexpected(listed.error());
  TRY(std::move(read), "{}", kind.plural);
  if (&kind == &api::KindOf<api::PodGroup>())
    for (size_t i = 0, groups = found.size(); i < groups; ++i) {
      // sky-scheduler's record of the group; without a garbage collector nobody else removes it.
      api::ObjectMeta placement;
      placement.namespace_ = found[i].meta.namespace_;
      placement.name = found[i].meta.name;
      found.push_back({&api::KindOf<api::Placement>(), std::move(placement)});
    }
  return found;
}

Result<Survey> Cluster::Look() {
  Survey survey;
  for (const api::Kind* kind : KindsMade()) {
    const std::vector<Found> found = TRY(Find(*kind));
    for (const Found& one : found)
      if (one.kind == kind) ++survey.made[Plural(*kind)];
  }
  auto nodes =
      TRY(kube::Await<kube::ListOf<api::Node>>([&](kube::Done<kube::ListOf<api::Node>> done) {
        client_.List<api::Node>({.label_selector = "!" + std::string(kMadeLabel)}, kCall,
                                std::move(done));
      }));
  if (!nodes.bad.empty()) return std::unexpected(std::move(nodes.bad.front().error));
  for (const auto& node : nodes.items) survey.others.push_back(*node);
  return survey;
}

Status Cluster::MakeNamespace(const std::string& name) {
  const auto post = [&](std::string path, std::string body) -> Status {
    const auto made = kube::Await<std::string>([&](kube::Done<std::string> done) {
      kube::Request request;
      request.method = kube::Method::kPost;
      request.path = std::move(path);
      request.body = std::move(body);
      request.content_type = "application/json";
      client_.raw().Call(std::move(request), kCall, std::move(done));
    });
    if (made || made.error().code() == Code::kAlreadyExists) return {};
    return std::unexpected(made.error());
  };
  TRY(post(
      "/api/v1/namespaces",
      fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", name)));
  // Pods are refused until it is there, and its controller may take a moment.
  return post(fmt::format("/api/v1/namespaces/{}/serviceaccounts", name),
              R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})");
}

Result<std::map<std::string, std::string>> Cluster::GroupReasons(const std::string& ns) {
  const auto groups = TRY(
      kube::Await<kube::ListOf<api::PodGroup>>([&](kube::Done<kube::ListOf<api::PodGroup>> done) {
        client_.List<api::PodGroup>({.ns = ns, .label_selector = std::string(kMadeSelector)}, kCall,
                                    std::move(done));
      }));
  std::map<std::string, std::string> reasons;
  for (const auto& group : groups.items)
    for (const api::Condition& condition : group->status.conditions)
      if (condition.type == "Unschedulable" && condition.status == "True")
        reasons[group->metadata.name] = fmt::format("{}: {}", condition.reason, condition.message);
  return reasons;
}

std::shared_ptr<Batch> Cluster::Create(std::vector<Made> objects) {
  const Batch::Size size{objects.size(), in_flight_, {}};
  return Batch::Start(client_.loop(), size,
                      [this, objects = std::move(objects)](size_t i, kube::DoneStatus done) {
                        SendCreate(objects[i], std::move(done));
                      });
}

std::shared_ptr<Batch> Cluster::Delete(std::vector<Found> objects) {
  const Batch::Size size{objects.size(), in_flight_, {}};
  return Batch::Start(client_.loop(), size,
                      [this, objects = std::move(objects)](size_t i, kube::DoneStatus done) {
                        SendDelete(objects[i], std::move(done));
                      });
}

void Cluster::SendCreate(const Made& object, kube::DoneStatus done) {
  SendCreate(object, 1, std::move(done));
}

void Cluster::SendCreate(const Made& object, int try_number, kube::DoneStatus done) {
  client_.raw().Create(
      *object.kind, object.ns, object.json, kCall,
      [this, object, try_number, done = std::move(done)](Result<std::string> made) mutable {
        if (made) return done({});
        const Code code = made.error().code();
        if (code == Code::kAlreadyExists && try_number > 1) return done({});
        if (code == Code::kUnknownOutcome && try_number < kMostTries)
          return SendCreate(object, try_number + 1, std::move(done));
        done(std::unexpected(std::move(made).error()));
      });
}

void Cluster::SendDelete(const Found& object, kube::DoneStatus done) {
  kube::DeleteOptions options{.uid = object.meta.uid};
  if (object.kind == &api::KindOf<api::Pod>()) options.grace_period_seconds = 0;
  client_.raw().Delete(*object.kind, object.meta.namespace_, object.meta.name, options, kCall,
                       [done = std::move(done)](Status gone) mutable {
                         // Gone already, or another one by that name: ours is no more.
                         if (!gone && (gone.error().code() == Code::kNotFound ||
                                       gone.error().code() == Code::kConflict))
                           gone = {};
                         done(std::move(gone));
                       });
}

}  // namespace sky::load
