// SPDX-License-Identifier: Apache-2.0
#include "lab/failure.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace sky::lab {
namespace {

Failure Simple(int code, std::string reason, std::string message) {
  Failure failure;
  failure.code = code;
  failure.reason = std::move(reason);
  failure.message = std::move(message);
  return failure;
}

Failure Named(int code, std::string reason, const About& about, std::string message) {
  Failure failure = Simple(code, std::move(reason), std::move(message));
  failure.group = about.group;
  failure.kind = about.plural;
  failure.name = about.name;
  return failure;
}

std::string WithGroup(std::string_view word, std::string_view group) {
  return group.empty() ? std::string(word) : fmt::format("{}.{}", word, group);
}

}  // namespace

Failure Failure::With(std::string_view context) && {
  if (!context.empty()) message = fmt::format("{}: {}", context, message);
  return std::move(*this);
}

std::string About::Resource() const { return WithGroup(plural, group); }
std::string About::QualifiedKind() const { return WithGroup(kind, group); }

Failure BadRequest(std::string message) { return Simple(400, "BadRequest", std::move(message)); }
Failure NotFound(const About& about) {
  return Named(404, "NotFound", about,
               fmt::format("{} \"{}\" not found", about.Resource(), about.name));
}
Failure PathNotFound() {
  return Simple(404, "NotFound", "the server could not find the requested resource");
}
Failure AlreadyExists(const About& about) {
  return Named(409, "AlreadyExists", about,
               fmt::format("{} \"{}\" already exists", about.Resource(), about.name));
}
Failure Conflict(const About& about, std::string_view why) {
  return Named(409, "Conflict", about,
               fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", about.Resource(),
                           about.name, why));
}
Failure Forbidden(const About& about, std::string_view why) {
  return Named(403, "Forbidden", about,
               fmt::format("{} \"{}\" is forbidden: {}", about.Resource(), about.name, why));
}
Failure Expired(std::string message) { return Simple(410, "Expired", std::move(message)); }
Failure TimedOut(std::string message, int retry_after_seconds) {
  Failure failure = Simple(504, "Timeout", std::move(message));
  failure.retry_after_seconds = retry_after_seconds;
  return failure;
}
Failure TooLargeVersion(int64_t asked, int64_t current) {
  Failure failure =
      TimedOut(fmt::format("Too large resource version: {}, current: {}", asked, current), 1);
  failure.causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}};
  return failure;
}
Failure TooManyRequests(std::string message, int retry_after_seconds) {
  Failure failure = Simple(429, "TooManyRequests", std::move(message));
  failure.retry_after_seconds = retry_after_seconds;
  return failure;
}
Failure MethodNotAllowed(std::string message) {
  return Simple(405, "MethodNotAllowed", std::move(message));
}
Failure UnsupportedMediaType(std::string message) {
  return Simple(415, "UnsupportedMediaType", std::move(message));
}
Failure NotAcceptable(std::string message) {
  return Simple(406, "NotAcceptable", std::move(message));
}
Failure Unnamed(std::string message) { return Simple(500, "", std::move(message)); }
Failure InternalError(std::string message) {
  return Simple(500, "InternalError", "Internal error occurred: " + std::move(message));
}

Failure Invalid(const About& about, std::vector<Cause> causes) {
  std::vector<std::string> said;
  for (const Cause& cause : causes)
    said.push_back(fmt::format("{}: {}", cause.field, cause.message));
  const std::string all =
      said.size() == 1 ? said.front() : fmt::format("[{}]", fmt::join(said, ", "));
  Failure failure =
      Named(422, "Invalid", about,
            fmt::format("{} \"{}\" is invalid: {}", about.QualifiedKind(), about.name, all));
  failure.kind = about.kind;
  failure.causes = std::move(causes);
  return failure;
}

Cause InvalidValue(std::string field, const Json& value, std::string_view why) {
  const std::string shown = value.is_object() || value.is_array() ? Dump(value) : Dump(value);
  return {"FieldValueInvalid", fmt::format("Invalid value: {}: {}", shown, why), std::move(field)};
}
Cause Required(std::string field, std::string_view why) {
  return {"FieldValueRequired",
          why.empty() ? "Required value" : fmt::format("Required value: {}", why),
          std::move(field)};
}
Cause ForbiddenField(std::string field, std::string_view why) {
  return {"FieldValueForbidden", fmt::format("Forbidden: {}", why), std::move(field)};
}
Cause Unsupported(std::string field, const Json& value, const std::vector<std::string>& supported) {
  std::vector<std::string> quoted;
  for (const std::string& word : supported) quoted.push_back(Dump(word));
  return {"FieldValueNotSupported",
          fmt::format("Unsupported value: {}: supported values: {}", Dump(value),
                      fmt::join(quoted, ", ")),
          std::move(field)};
}
Cause TooLong(std::string field, size_t limit) {
  return {"FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", limit),
          std::move(field)};
}
Cause TooMany(std::string field, size_t count, size_t limit) {
  return {"FieldValueTooMany",
          fmt::format("Too many: {}: must have at most {} items", count, limit), std::move(field)};
}

Json ToStatus(const Failure& failure) {
  Json details = Json::object();
  if (!failure.name.empty()) details["name"] = failure.name;
  if (!failure.group.empty()) details["group"] = failure.group;
  if (!failure.kind.empty()) details["kind"] = failure.kind;
  if (!failure.uid.empty()) details["uid"] = failure.uid;
  if (failure.retry_after_seconds > 0) details["retryAfterSeconds"] = failure.retry_after_seconds;
  for (const Cause& cause : failure.causes) {
    Json shown = {{"reason", cause.reason}, {"message", cause.message}};
    if (!cause.field.empty()) shown["field"] = cause.field;
    details["causes"].push_back(std::move(shown));
  }
  Json status = {{"kind", "Status"},    {"apiVersion", "v1"},         {"metadata", Json::object()},
                 {"status", "Failure"}, {"message", failure.message}, {"code", failure.code}};
  if (!failure.reason.empty()) status["reason"] = failure.reason;
  if (!details.empty()) status["details"] = std::move(details);
  return status;
}

server::Response ToResponse(const Failure& failure) {
  server::Response response;
  response.status = failure.code;
  response.body = Dump(ToStatus(failure)) + "\n";
  if (failure.retry_after_seconds > 0)
    response.headers.push_back({"retry-after", std::to_string(failure.retry_after_seconds)});
  return response;
}

}  // namespace sky::lab
