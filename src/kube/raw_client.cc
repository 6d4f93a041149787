// SPDX-License-Identifier: Apache-2.0
#include "kube/raw_client.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "kube/watch_decoder.h"

namespace sky::kube {
namespace {

using nlohmann::json;

constexpr int kMostAnsweredTries = 10;  // where the server asks for another try
constexpr int kMostCutTries = 4;
constexpr Duration kFirstCutWait = std::chrono::milliseconds(100);

// One call until its `done`: alive through the callbacks that it waits for. When the loop ends and
// drops those, the destructor says so; nobody waits for ever.
class PendingCall : public std::enable_shared_from_this<PendingCall> {
 public:
  PendingCall(Transport& transport, Request request, CallOptions options, Done<std::string> done)
      : transport_(transport),
        request_(std::move(request)),
        options_(options),
        done_(std::move(done)),
        deadline_(transport.loop().Now() + options.timeout) {}
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;
  ~PendingCall() {
    if (done_) Finish(Fail(Code::kCancelled, "the client was shut down"));
  }

  void Send() {
    const Duration left = deadline_ - transport_.loop().Now();
    if (left <= Duration::zero()) return Refuse(Error(Code::kCancelled, "no time left to send it"));
    Request request = request_;
    request.timeout = left;
    request.repeated = tries_++ > 0;
    transport_.Send(std::move(request), [self = shared_from_this()](Result<Response> answer) {
      self->OnAnswer(std::move(answer));
    });
  }

  // Ends the call without sending anything.
  void Refuse(Error error) {
    transport_.loop().Post([self = shared_from_this(), error = std::move(error)]() mutable {
      self->Finish(std::unexpected(std::move(error)));
    });
  }

 private:
  void OnAnswer(Result<Response> answer) {
    if (answer && answer->ok()) return Finish(std::move(answer->body));
    const bool answered = answer.has_value();
    Error error = answered ? ToError(*answer) : std::move(answer).error();
    const auto wait = RepeatAfter(request_.method, options_, error, answered, tries_);
    if (wait && transport_.loop().Now() + *wait < deadline_) {
      transport_.loop().RunAfter(*wait, [self = shared_from_this()] { self->Send(); });
      return;
    }
    Finish(std::unexpected(std::move(error)));
  }

  void Finish(Result<std::string> result) {
    auto done = std::exchange(done_, nullptr);
    if (!result)
      result = std::unexpected(std::move(result).error().With(
          fmt::format("{} {}", MethodName(request_.method), request_.path)));
    done(std::move(result));
  }

  Transport& transport_;
  const Request request_;
  const CallOptions options_;
  Done<std::string> done_;
  const MonoTime deadline_;
  int tries_ = 0;
};

// Page after page. The continue token of a list that took too long expires: then once more in one
// piece.
class PagedList : public std::enable_shared_from_this<PagedList> {
 public:
  PagedList(RawClient& client, const api::Kind& kind, ListOptions list, CallOptions options,
            RawListCallbacks callbacks)
      : client_(client),
        kind_(kind),
        list_(std::move(list)),
        options_(options),
        callbacks_(std::move(callbacks)) {}

  void NextPage(const std::string& continue_token) {
    Request request;
    request.path = kind_.Path(list_.ns, "");
    if (!list_.label_selector.empty())
      request.query.emplace_back("labelSelector", list_.label_selector);
    if (!list_.field_selector.empty())
      request.query.emplace_back("fieldSelector", list_.field_selector);
    if (list_.page_size > 0)
      request.query.emplace_back("limit", fmt::format("{}", list_.page_size));
    if (!continue_token.empty()) request.query.emplace_back("continue", continue_token);
    const bool first = continue_token.empty();
    client_.Call(std::move(request), options_,
                 [self = shared_from_this(), first](Result<std::string> text) {
                   self->OnPage(first, std::move(text));
                 });
  }

 private:
  void OnPage(bool first, Result<std::string> text) {
    if (!text) {
      if (first || text.error().code() != Code::kExpired)
        return callbacks_.done(std::unexpected(std::move(text).error()));
      list_.page_size = 0;
      return NextPage("");
    }
    Result<ListPage> page = ParseListPage(*text);
    if (!page)
      return callbacks_.done(std::unexpected(
          std::move(page).error().With(fmt::format("GET {}", kind_.Path(list_.ns, "")))));
    if (first) callbacks_.begin();
    for (const std::string_view item : page->items) callbacks_.item(item);
    if (!page->continue_token.empty()) return NextPage(page->continue_token);
    callbacks_.done(std::move(page->resource_version));
  }

  RawClient& client_;
  const api::Kind& kind_;
  ListOptions list_;
  const CallOptions options_;
  RawListCallbacks callbacks_;
};

// A name becomes a part of the path: what would change the path is refused here.
Status CheckNames(const api::Kind& kind, std::string_view ns, std::string_view name) {
  for (const std::string_view part : {ns, name}) {
    if (part == "." || part == ".." || part.find_first_of("/%?#\\ \n") != std::string_view::npos)
      return Fail(Code::kInvalid, "\"{}\" can't be the name of an object", part);
  }
  if (kind.namespaced && ns.empty() && !name.empty())
    return Fail(Code::kInvalid, "{} \"{}\" needs a namespace", kind.kind, name);
  return {};
}

Status CheckObjectNames(const api::Kind& kind, std::string_view ns, std::string_view name) {
  if (name.empty()) return Fail(Code::kInvalid, "the name of the {} is missing", kind.kind);
  return CheckNames(kind, ns, name);
}

std::string PathOf(const api::Kind& kind, std::string_view ns, std::string_view name, Part part) {
  return kind.Path(ns, name) + (part == Part::kStatus ? "/status" : "");
}

Request MakeRequest(Method method, std::string path, std::string body = {},
                    std::string content_type = "application/json") {
  Request request;
  request.method = method;
  request.path = std::move(path);
  if (!body.empty()) request.content_type = std::move(content_type);
  request.body = std::move(body);
  return request;
}

Done<std::string> WithoutObject(DoneStatus done) {
  return [done = std::move(done)](Result<std::string> answer) mutable {
    if (answer) return done({});
    done(std::unexpected(std::move(answer).error()));
  };
}

// Bytes that are no UTF-8 become U+FFFD instead of an exception.
std::string ToText(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Status CheckPod(const PodRef& pod) {
  TRY(CheckObjectNames(api::KindOf<api::Pod>(), pod.ns, pod.name));
  if (pod.uid.empty())
    return Fail(Code::kInvalid, "the uid of pod {}/{} is missing", pod.ns, pod.name);
  return {};
}

}  // namespace

std::optional<Duration> RepeatAfter(Method method, const CallOptions& options, const Error& error,
                                    bool answered, int tries) {
  const bool read = method == Method::kGet;
  if (!answered) {
    // Cut or refused connections; nothing else comes without an answer.
    const bool cut = error.code() == Code::kUnknownOutcome || error.code() == Code::kUnavailable;
    if (!read || !cut || tries >= kMostCutTries) return std::nullopt;
    return kFirstCutWait * (1 << (tries - 1));
  }
  if (error.retry_after() <= std::chrono::milliseconds::zero() || tries >= kMostAnsweredTries)
    return std::nullopt;
  const bool throttled = error.code() == Code::kTooManyRequests;
  const bool allowed = read ? throttled || error.code() == Code::kUnknownOutcome
                            : throttled && options.retry_throttled;
  return allowed ? std::optional<Duration>(error.retry_after()) : std::nullopt;
}

void RawClient::Call(Request request, CallOptions options, Done<std::string> done) {
  Checked({}, std::move(request), options, std::move(done));
}

void RawClient::Checked(Status check, Request request, CallOptions options,
                        Done<std::string> done) {
  request.timeout_to_server = true;
  request.urgency = options.urgency;
  if (options.dry_run && request.method != Method::kGet)
    request.query.emplace_back("dryRun", "All");
  auto call =
      std::make_shared<PendingCall>(transport_, std::move(request), options, std::move(done));
  if (check)
    call->Send();
  else
    call->Refuse(std::move(check).error());
}

void RawClient::Get(const api::Kind& kind, std::string_view ns, std::string_view name,
                    CallOptions options, Done<std::string> done) {
  Checked(CheckObjectNames(kind, ns, name), MakeRequest(Method::kGet, kind.Path(ns, name)), options,
          std::move(done));
}

void RawClient::List(const api::Kind& kind, const ListOptions& list, CallOptions options,
                     RawListCallbacks callbacks) {
  if (Status check = CheckNames(kind, list.ns, ""); !check)
    return Checked(std::move(check), MakeRequest(Method::kGet, kind.Path("", "")), options,
                   std::move(callbacks.done));
  std::make_shared<PagedList>(*this, kind, list, options, std::move(callbacks))->NextPage("");
}

void RawClient::Create(const api::Kind& kind, std::string_view ns, std::string object,
                       CallOptions options, Done<std::string> done) {
  Status check = CheckNames(kind, ns, "");
  if (check && kind.namespaced && ns.empty())
    check = Fail(Code::kInvalid, "a {} needs a namespace", kind.kind);
  Checked(std::move(check), MakeRequest(Method::kPost, kind.Path(ns, ""), std::move(object)),
          options, std::move(done));
}

void RawClient::Update(const api::Kind& kind, const api::ObjectMeta& meta, Part part,
                       std::string object, CallOptions options, Done<std::string> done) {
  Status check = CheckObjectNames(kind, meta.namespace_, meta.name);
  if (check && meta.resource_version.empty())
    check =
        Fail(Code::kInvalid, "the {} has no resourceVersion: read it before writing it", kind.kind);
  Checked(
      std::move(check),
      MakeRequest(Method::kPut, PathOf(kind, meta.namespace_, meta.name, part), std::move(object)),
      options, std::move(done));
}

void RawClient::MergePatch(const api::Kind& kind, std::string_view ns, std::string_view name,
                           Part part, std::string patch, CallOptions options,
                           Done<std::string> done) {
  Checked(CheckObjectNames(kind, ns, name),
          MakeRequest(Method::kPatch, PathOf(kind, ns, name, part), std::move(patch),
                      "application/merge-patch+json"),
          options, std::move(done));
}

void RawClient::Apply(const api::Kind& kind, std::string_view ns, std::string_view name, Part part,
                      std::string object, const ApplyOptions& apply, CallOptions options,
                      Done<std::string> done) {
  Status check = CheckObjectNames(kind, ns, name);
  if (check && apply.field_manager.empty())
    check = Fail(Code::kInvalid, "server-side apply needs the name of a field manager");
  Request request = MakeRequest(Method::kPatch, PathOf(kind, ns, name, part), std::move(object),
                                "application/apply-patch+yaml");  // JSON is YAML
  request.query.emplace_back("fieldManager", apply.field_manager);
  request.query.emplace_back("force", apply.force ? "true" : "false");
  Checked(std::move(check), std::move(request), options, std::move(done));
}

void RawClient::Delete(const api::Kind& kind, std::string_view ns, std::string_view name,
                       const DeleteOptions& del, CallOptions options, DoneStatus done) {
  json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!del.uid.empty()) body["preconditions"]["uid"] = del.uid;
  if (!del.resource_version.empty())
    body["preconditions"]["resourceVersion"] = del.resource_version;
  if (!del.propagation.empty()) body["propagationPolicy"] = del.propagation;
  if (del.grace_period_seconds) body["gracePeriodSeconds"] = *del.grace_period_seconds;
  Checked(CheckObjectNames(kind, ns, name),
          MakeRequest(Method::kDelete, kind.Path(ns, name), ToText(body)), options,
          WithoutObject(std::move(done)));
}

void RawClient::Bind(const PodRef& pod, std::string_view node, const api::StringMap& annotations,
                     CallOptions options, DoneStatus done) {
  json body = {{"apiVersion", "v1"},
               {"kind", "Binding"},
               {"metadata", {{"namespace", pod.ns}, {"name", pod.name}, {"uid", pod.uid}}},
               {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  for (const auto& [key, value] : annotations) body["metadata"]["annotations"][key] = value;
  Status check = CheckPod(pod);
  if (check && node.empty()) check = Fail(Code::kInvalid, "the node of the binding is missing");
  Checked(std::move(check),
          MakeRequest(Method::kPost, api::KindOf<api::Pod>().Path(pod.ns, pod.name) + "/binding",
                      ToText(body)),
          options, WithoutObject(std::move(done)));
}

void RawClient::Evict(const PodRef& pod, CallOptions options, DoneStatus done) {
  const json body = {{"apiVersion", "policy/v1"},
                     {"kind", "Eviction"},
                     {"metadata", {{"namespace", pod.ns}, {"name", pod.name}}},
                     {"deleteOptions", {{"preconditions", {{"uid", pod.uid}}}}}};
  Checked(CheckPod(pod),
          MakeRequest(Method::kPost, api::KindOf<api::Pod>().Path(pod.ns, pod.name) + "/eviction",
                      ToText(body)),
          options, WithoutObject(std::move(done)));
}

}  // namespace sky::kube
