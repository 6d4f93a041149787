// SPDX-License-Identifier: Apache-2.0
// A refusal as the API server words it: metav1.Status with code, reason, details and causes.
// Answered<T> is what the parts of the embedded API server return; only the front turns it into a
// response.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/document.h"
#include "server/http.h"

namespace sky::lab {

// One wrong field. reason: FieldValueInvalid, FieldValueRequired, FieldManagerConflict, …
struct Cause {
  std::string reason, message, field;
  bool operator==(const Cause&) const = default;
};

struct Failure {
  int code = 500;
  std::string reason, message;
  // details
  std::string group, kind, name, uid;
  std::vector<Cause> causes;
  int retry_after_seconds = 0;

  // For TRY: "context: message".
  Failure With(std::string_view context) &&;
};

template <class T>
using Answered = std::expected<T, Failure>;
using Done = std::expected<void, Failure>;

// The thing that a failure is about, as the API server names it: "quotas.scheduling.infini-ai.com
// \"q\"".
struct About {
  std::string_view group, plural, kind, name;
  std::string Resource() const;       // "quotas.scheduling.infini-ai.com", "pods"
  std::string QualifiedKind() const;  // "Quota.scheduling.infini-ai.com", "Pod"
};

Failure BadRequest(std::string message);
Failure NotFound(const About& about);
Failure PathNotFound();
Failure AlreadyExists(const About& about);
Failure Conflict(const About& about, std::string_view why);
Failure Invalid(const About& about, std::vector<Cause> causes);
Failure Forbidden(const About& about, std::string_view why);
Failure Expired(std::string message);
Failure TimedOut(std::string message, int retry_after_seconds = 0);
// Of a resourceVersion that is still to come.
Failure TooLargeVersion(int64_t asked, int64_t current);
Failure TooManyRequests(std::string message, int retry_after_seconds);
Failure MethodNotAllowed(std::string message);
Failure UnsupportedMediaType(std::string message);
Failure NotAcceptable(std::string message);
// 500 without a reason: what a real server makes of errors that nobody has named.
Failure Unnamed(std::string message);
Failure InternalError(std::string message);

// Causes as field.Error words them.
Cause InvalidValue(std::string field, const Json& value, std::string_view why);
Cause Required(std::string field, std::string_view why = "");
Cause ForbiddenField(std::string field, std::string_view why);
Cause Unsupported(std::string field, const Json& value, const std::vector<std::string>& supported);
Cause TooLong(std::string field, size_t limit);
Cause TooMany(std::string field, size_t count, size_t limit);

// metav1.Status
Json ToStatus(const Failure& failure);
server::Response ToResponse(const Failure& failure);

}  // namespace sky::lab
