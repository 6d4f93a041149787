// SPDX-License-Identifier: Apache-2.0
#include "lab/faults.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace sky::lab {
namespace {

bool IsAny(const std::string& wanted, const std::string& is) {
  return wanted.empty() || wanted == is;
}

bool MatchesVerb(const std::vector<std::string>& wanted, const std::string& verb) {
  if (wanted.empty()) return true;
  const bool reads = verb == "get" || verb == "list" || verb == "watch";
  return std::ranges::any_of(wanted, [&](const std::string& one) {
    return one == verb || (one == "read" && reads) || (one == "write" && !reads && !verb.empty());
  });
}

bool Matches(const Fault& fault, const FaultFacts& facts) {
  return MatchesVerb(fault.verbs, facts.verb) && IsAny(fault.group, facts.group) &&
         IsAny(fault.resource, facts.resource) && IsAny(fault.subresource, facts.subresource) &&
         IsAny(fault.ns, facts.ns) && IsAny(fault.name, facts.name) &&
         facts.agent.starts_with(fault.agent) &&
         (fault.token_is_not.empty() || facts.token != fault.token_is_not);
}

std::string_view ReasonOf(int64_t code) {
  switch (code) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "InternalError";
  }
}

// Reads the members of one map and knows which it has not been asked for.
class Members {
 public:
  Members(const Json* map, std::string where) : map_(map), where_(std::move(where)) {}

  const Json* Take(std::string_view name) {
    asked_.emplace_back(name);
    return map_ == nullptr ? nullptr : Find(*map_, {name});
  }
  Result<std::string> Text(std::string_view name) {
    const Json* value = Take(name);
    if (value == nullptr) return std::string();
    if (!value->is_string()) return Fail(Code::kInvalid, "{}.{} must be a text", where_, name);
    return value->get<std::string>();
  }
  Result<int64_t> Int(std::string_view name, int64_t fallback) {
    const Json* value = Take(name);
    if (value == nullptr) return fallback;
    if (!value->is_number_integer() || *value < 0)
      return Fail(Code::kInvalid, "{}.{} must be a whole number from 0 on", where_, name);
    return value->get<int64_t>();
  }
  Result<bool> Bool(std::string_view name) {
    const Json* value = Take(name);
    if (value == nullptr) return false;
    if (!value->is_boolean())
      return Fail(Code::kInvalid, "{}.{} must be true or false", where_, name);
    return value->get<bool>();
  }
  Result<std::optional<Duration>> Time(std::string_view name) {
    const std::string text = TRY(Text(name));
    if (text.empty()) return std::optional<Duration>();
    return std::optional<Duration>(TRY(ParseDuration(text), "{}.{}", where_, name));
  }
  Status NothingElse() const {
    if (map_ == nullptr) return {};
    if (!map_->is_object()) return Fail(Code::kInvalid, "{} must be a map", where_);
    for (const auto& [name, value] : map_->items())
      if (std::ranges::find(asked_, name) == asked_.end())
        return Fail(Code::kInvalid, "{}.{} is not known here", where_, name);
    return {};
  }

 private:
  const Json* map_;
  std::string where_;
  std::vector<std::string> asked_;
};

Status ReadMatch(const Json* map, const std::string& where, Fault& fault) {
  Members members(map, where + ".match");
  if (const Json* verbs = members.Take("verb"); verbs != nullptr && verbs->is_array())
    fault.verbs = TextsAt(*map, {"verb"});
  else if (verbs != nullptr)
    fault.verbs = {TextAt(*map, {"verb"})};
  fault.group = TRY(members.Text("group"));
  fault.resource = TRY(members.Text("resource"));
  fault.subresource = TRY(members.Text("subresource"));
  fault.ns = TRY(members.Text("namespace"));
  fault.name = TRY(members.Text("name"));
  fault.agent = TRY(members.Text("agent"));
  fault.token_is_not = TRY(members.Text("tokenIsNot"));
  fault.event = TRY(members.Bool("event"));
  fault.nth = TRY(members.Int("nth", 1));
  fault.count = TRY(members.Int("count", 1));
  return members.NothingElse();
}

Status ReadRefusal(const Json& map, const std::string& where, Fault& fault) {
  Members members(&map, where + ".action.refuse");
  const int64_t code = TRY(members.Int("code", 500));
  Failure failure;
  failure.code = static_cast<int>(code);
  failure.retry_after_seconds = static_cast<int>(TRY(members.Int("retryAfter", 0)));
  failure.reason = TRY(members.Text("reason"));
  failure.message = TRY(members.Text("message"));
  if (failure.reason.empty()) failure.reason = ReasonOf(code);
  if (failure.message.empty()) failure.message = "a fault was asked for";
  if (code < 400 || code > 599)
    return Fail(Code::kInvalid, "{}.action.refuse.code must be from 400 to 599", where);
  fault.refuse = std::move(failure);
  return members.NothingElse();
}

Status ReadAction(const Json* map, const std::string& where, Fault& fault) {
  Members members(map, where + ".action");
  fault.delay = TRY(members.Time("delay")).value_or(Duration::zero());
  fault.delay_answer = TRY(members.Time("delayAnswer")).value_or(Duration::zero());
  fault.drop_request = TRY(members.Bool("dropRequest"));
  fault.drop_answer = TRY(members.Bool("dropAnswer"));
  fault.cut = TRY(members.Bool("cut"));
  fault.cut_watch = TRY(members.Bool("cutWatch"));
  fault.hold = TRY(members.Time("hold"));
  fault.reverse = TRY(members.Int("reverse", 0));
  if (members.Take("exit") != nullptr)
    fault.exit_code = static_cast<int>(TRY(members.Int("exit", 0)));
  if (const Json* refusal = members.Take("refuse")) TRY(ReadRefusal(*refusal, where, fault));
  TRY(members.NothingElse());
  const bool of_event = fault.cut_watch || fault.hold || fault.reverse > 0;
  const bool of_request = fault.delay > Duration::zero() || fault.delay_answer > Duration::zero() ||
                          fault.drop_request || fault.drop_answer || fault.cut || fault.exit_code ||
                          fault.refuse;
  if (fault.event ? !of_event || of_request : !of_request || of_event)
    return Fail(
        Code::kInvalid,
        "{}.action: events take cutWatch, hold or reverse; requests take delay, delayAnswer, "
        "dropRequest, dropAnswer, refuse, cut or exit",
        where);
  return {};
}

Json Describe(const Fault& fault) {
  Json match = {{"nth", fault.nth}, {"count", fault.count}};
  if (!fault.verbs.empty()) match["verb"] = fault.verbs;
  for (const auto& [name, value] :
       {std::pair("group", &fault.group), std::pair("resource", &fault.resource),
        std::pair("subresource", &fault.subresource), std::pair("namespace", &fault.ns),
        std::pair("name", &fault.name), std::pair("agent", &fault.agent)})
    if (!value->empty()) match[name] = *value;
  if (fault.event) match["event"] = true;
  return {{"match", std::move(match)}, {"seen", fault.seen}};
}

}  // namespace

FaultFacts FactsOf(const Resources& resources, const server::Request& request) {
  FaultFacts facts;
  facts.agent = request.HeaderOr("user-agent");
  static constexpr std::string_view kBearer = "Bearer ";
  if (const std::string_view auth = request.HeaderOr("authorization"); auth.starts_with(kBearer))
    facts.token = auth.substr(kBearer.size());
  const auto call = Understand(resources, request, MonoTime());
  if (!call) return facts;
  facts.verb = VerbName(call->verb);
  facts.group = call->resource->group;
  facts.resource = call->resource->plural;
  facts.subresource = call->subresource;
  facts.ns = call->ns;
  facts.name = call->name;
  if (facts.name.empty() && call->verb == Verb::kCreate)
    if (const auto body = ParseJson(request.body)) facts.name = TextAt(*body, {"metadata", "name"});
  return facts;
}

Status Faults::Add(std::string_view text) {
  const std::vector<Json> documents = TRY(ParseYaml(text), "faults");
  std::vector<Fault> added;
  for (const Json& document : documents) {
    const Json* list = Find(document, {"faults"});
    if (list == nullptr || !list->is_array() || document.size() != 1)
      return Fail(Code::kInvalid, "a file of faults is one list named \"faults\"");
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string where = fmt::format("faults[{}]", i);
      Fault fault;
      Members members(&(*list)[i], where);
      TRY(ReadMatch(members.Take("match"), where, fault));
      TRY(ReadAction(members.Take("action"), where, fault));
      TRY(members.NothingElse());
      added.push_back(std::move(fault));
    }
  }
  for (Fault& fault : added) Add(std::move(fault));
  return {};
}

void Faults::Add(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void Faults::Clear() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
  cut_ = false;
}

Json Faults::ToJson() const {
  const std::lock_guard lock(mutex_);
  Json list = Json::array();
  for (const Fault& fault : faults_) list.push_back(Describe(fault));
  return {{"faults", std::move(list)}, {"cut", cut_}};
}

std::optional<Fault> Faults::Take(const FaultFacts& facts, bool event) {
  const std::lock_guard lock(mutex_);
  std::optional<Fault> acting;
  for (Fault& fault : faults_) {
    if (fault.event != event || !Matches(fault, facts)) continue;
    ++fault.seen;
    const bool acts =
        fault.seen >= fault.nth && (fault.count == 0 || fault.seen < fault.nth + fault.count);
    if (acts && !acting) acting = fault;
  }
  return acting;
}

bool Faults::cut() const {
  const std::lock_guard lock(mutex_);
  return cut_;
}

void Faults::SetCut() {
  const std::lock_guard lock(mutex_);
  cut_ = true;
}

}  // namespace sky::lab
