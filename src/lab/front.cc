// SPDX-License-Identifier: Apache-2.0
#include "lab/front.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace sky::lab {
namespace {

constexpr size_t kRemembered = 20'000;

server::Response Text(int status, std::string body) {
  return {status, "application/json", {}, std::move(body)};
}

}  // namespace

Front::Front(ApiServer& api, const Clock& clock, RunAfter run_after, Exit exit)
    : api_(api), clock_(clock), run_after_(std::move(run_after)), exit_(std::move(exit)) {}

void Front::Serve(server::Request request, ResponderPtr responder) {
  if (!request.target.segments.empty() && request.target.segments[0] == "lab")
    return responder->Send(Steer(request));
  if (faults_.cut()) return responder->Drop();
  const FaultFacts facts = FactsOf(api_.resources(), request);
  const Fault fault = faults_.ForRequest(facts).value_or(Fault());
  const MonoTime received = clock_.Mono();
  if (fault.delay == Duration::zero()) return Carry(request, facts, fault, received, responder);
  run_after_(fault.delay,
             [this, r = std::move(request), facts, fault, received,
              responder = std::move(responder)] { Carry(r, facts, fault, received, responder); });
}

void Front::Carry(const server::Request& request, const FaultFacts& facts, const Fault& fault,
                  MonoTime received, const ResponderPtr& responder) {
  if (fault.drop_request) {
    Note(facts, 0);
    return responder->Drop();
  }
  if (fault.refuse) {
    Note(facts, fault.refuse->code);
    return responder->Send(ToResponse(*fault.refuse));
  }
  if (api_.IsWatch(request)) return ServeWatch(request, facts, *responder);
  server::Response response = api_.Handle(request, received);
  if (fault.exit_code) exit_(*fault.exit_code);
  if (fault.cut || fault.drop_answer) {
    Note(facts, 0);
    if (fault.cut) {
      faults_.SetCut();
      CutWatches("");
    }
    return responder->Drop();
  }
  Note(facts, response.status);
  if (fault.delay_answer == Duration::zero()) return responder->Send(std::move(response));
  run_after_(fault.delay_answer,
             [responder, r = std::move(response)]() mutable { responder->Send(std::move(r)); });
}

void Front::ServeWatch(const server::Request& request, const FaultFacts& facts,
                       server::Responder& responder) {
  const auto pipe = std::make_shared<WatchPipe>(facts, faults_, run_after_);
  const auto id =
      api_.StartWatch(request, [pipe](const WatchEvent* event) { return pipe->Push(event); });
  Note(facts, id ? 0 : id.error().code);
  if (!id) return responder.Send(ToResponse(id.error()));
  {
    const std::lock_guard lock(mutex_);
    pipes_.remove_if([](const auto& other) { return other.expired(); });
    pipes_.push_back(pipe);
  }
  const auto stream = responder.Start({200, "application/json", {}, ""});
  pipe->Attach(stream);
  stream->OnClosed([this, id = *id, pipe] {
    api_.Unwatch(id);
    pipe->Detach();
  });
}

void Front::ClearFaults() {
  faults_.Clear();
  const std::lock_guard lock(mutex_);
  for (const auto& held : pipes_)
    if (const auto pipe = held.lock()) pipe->Release();
}

void Front::CutWatches(std::string_view resource) {
  const std::lock_guard lock(mutex_);
  for (const auto& held : pipes_)
    if (const auto pipe = held.lock(); pipe && (resource.empty() || pipe->resource() == resource))
      pipe->Cut();
}

server::Response Front::Steer(const server::Request& request) {
  const auto& path = request.target.segments;
  const std::string what = path.size() == 2 ? path[1] : "";
  if (what == "faults" && request.method == "GET") return Text(200, Dump(faults_.ToJson()) + "\n");
  if (what == "faults" && request.method == "DELETE") {
    ClearFaults();
    return Text(200, "{}\n");
  }
  if (what == "faults" && request.method == "POST") {
    const Status added = faults_.Add(request.body);
    return added ? Text(201, "{}\n") : ToResponse(BadRequest(added.error().message()));
  }
  if (what == "compact" && request.method == "POST") {
    api_.Compact();
    return Text(200, "{}\n");
  }
  if (what == "cut-watches" && request.method == "POST") {
    CutWatches(request.target.QueryOr("resource"));
    return Text(200, "{}\n");
  }
  if (what == "requests" && request.method == "GET") {
    const std::string_view text = request.target.QueryOr("after");
    int64_t after = 0;
    std::from_chars(text.data(), text.data() + text.size(), after);
    return Text(200, Log(after));
  }
  return ToResponse(PathNotFound());
}

void Front::Note(const FaultFacts& facts, int code) {
  const std::lock_guard lock(mutex_);
  seen_.push_back({next_number_++, clock_.Wall(), facts, code});
  if (seen_.size() > kRemembered) seen_.pop_front();
}

std::string Front::Log(int64_t after) const {
  const std::lock_guard lock(mutex_);
  Json requests = Json::array();
  for (const Seen& seen : seen_)
    if (seen.number > after)
      requests.push_back({{"number", seen.number},
                          {"time", FormatMicroTime(seen.at)},
                          {"verb", seen.facts.verb},
                          {"group", seen.facts.group},
                          {"resource", seen.facts.resource},
                          {"subresource", seen.facts.subresource},
                          {"namespace", seen.facts.ns},
                          {"name", seen.facts.name},
                          {"agent", seen.facts.agent},
                          {"code", seen.code}});
  return Dump({{"requests", std::move(requests)}}) + "\n";
}

}  // namespace sky::lab
