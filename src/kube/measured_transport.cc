// SPDX-License-Identifier: Apache-2.0
#include "kube/measured_transport.h"

#include <utility>
#include <vector>

namespace sky::kube {
namespace {

std::vector<std::string_view> Segments(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0) segments.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return segments;
}

std::string_view VerbOf(Method method, bool named) {
  switch (method) {
    case Method::kGet:
      return named ? "get" : "list";
    case Method::kPost:
      return "create";
    case Method::kPut:
      return "update";
    case Method::kPatch:
      return "patch";
    case Method::kDelete:
      return named ? "delete" : "deletecollection";
  }
  return "get";
}

}  // namespace

RequestKind KindOfRequest(const Request& request, bool stream) {
  std::vector<std::string_view> path = Segments(request.path);
  // /api/v1 or /apis/group/version, then perhaps /namespaces/name: what is left is the resource.
  const size_t root = path.empty() ? 0 : path[0] == "api" ? 2 : path[0] == "apis" ? 3 : 0;
  if (root == 0 || path.size() <= root) return {std::string(VerbOf(request.method, true)), "other"};
  size_t at = root;
  if (path[at] == "namespaces" && path.size() > at + 2) at += 2;
  const bool named = path.size() > at + 1;
  std::string resource(path[at]);
  if (path.size() > at + 2) resource.append("/").append(path[at + 2]);
  return {std::string(stream ? "watch" : VerbOf(request.method, named)), std::move(resource)};
}

void RequestStats::Note(Outcome outcome, Duration took) {
  const double seconds = Seconds(took);
  const std::lock_guard lock(mutex_);
  Times& times = now_.requests[std::move(outcome)];
  ++times.count;
  times.seconds += seconds;
  for (size_t i = 0; i < kBounds.size(); ++i) times.within[i] += seconds <= kBounds[i] ? 1 : 0;
}

void RequestStats::NoteRepeat(const RequestKind& kind) {
  const std::lock_guard lock(mutex_);
  ++now_.repeats[kind];
}

RequestStats::Snapshot RequestStats::Read() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

// The stats outlive us in what is under way.
Done<Response> MeasuredTransport::Timed(RequestKind kind, Done<Response> done) {
  return [stats = stats_, &loop = inner_.loop(), began = inner_.loop().Now(),
          kind = std::move(kind), done = std::move(done)](Result<Response> answer) mutable {
    std::string code =
        answer ? fmt::format("{}", answer->status) : std::string(CodeName(answer.error().code()));
    stats->Note({std::move(kind), std::move(code)}, loop.Now() - began);
    done(std::move(answer));
  };
}

void MeasuredTransport::Send(Request request, Done<Response> done) {
  RequestKind kind = KindOfRequest(request, false);
  if (request.repeated) stats_->NoteRepeat(kind);
  inner_.Send(std::move(request), Timed(std::move(kind), std::move(done)));
}

StreamId MeasuredTransport::Open(Request request, StreamCallbacks callbacks) {
  callbacks.on_end = Timed(KindOfRequest(request, true), std::move(callbacks.on_end));
  return inner_.Open(std::move(request), std::move(callbacks));
}

}  // namespace sky::kube
