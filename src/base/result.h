// SPDX-License-Identifier: Apache-2.0
// Operating trouble as a value: Result<T> is a T or an Error with a code, a message for a person
// and the context that each caller added on the way up. Scheduling answers are not errors
// (model/verdict.h), broken invariants are not either (base/check.h). Nothing here throws.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace sky {

enum class Code {
  kInvalid,          // the input is wrong: the caller must change it (HTTP 400, 422)
  kNotFound,         // 404
  kAlreadyExists,    // 409 on create
  kConflict,         // 409: a precondition (resourceVersion, uid, already bound) did not hold
  kExpired,          // 410: the resourceVersion or continue token is too old
  kUnauthorized,     // 401
  kForbidden,        // 403
  kTooManyRequests,  // 429: definitely not carried out
  kUnknownOutcome,   // sent, and nobody can say whether it was carried out (timeout, 5xx, cut
                     // connection)
  kUnavailable,      // never reached the other side
  kCancelled,        // given up by us before it was sent
  kInternal,         // none of the above
};

std::string_view CodeName(Code code);

class Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // What the server asked us to wait (Retry-After); zero when it said nothing.
  std::chrono::milliseconds retry_after() const { return retry_after_; }

  // "context: message"; an empty context changes nothing.
  Error With(std::string_view context) &&;
  Error RetryAfter(std::chrono::milliseconds wait) &&;

 private:
  Code code_;
  std::chrono::milliseconds retry_after_{0};
  std::string message_;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

template <class... Args>
std::unexpected<Error> Fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error(code, fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace sky

// TRY(expression, "context {}", args…) is the value of a Result, or returns its Error with the
// context added. Not usable in a coroutine or a constructor. Its variable has a name of its own
// each time, so that a TRY may stand in a lambda inside another TRY.
#define TRY(expression, ...) \
  SKY_TRY(SKY_TRY_NAME(try_result_, __COUNTER__), expression __VA_OPT__(, ) __VA_ARGS__)
#define SKY_TRY_NAME(prefix, number) SKY_TRY_JOIN(prefix, number)
#define SKY_TRY_JOIN(prefix, number) prefix##number
#define SKY_TRY(result, expression, ...)                                              \
  __extension__({                                                                     \
    auto&& result = (expression);                                                     \
    if (!result.has_value()) [[unlikely]]                                             \
      return std::unexpected(                                                         \
          std::move(result).error().With(::sky::try_internal::Context(__VA_ARGS__))); \
    std::move(result).value();                                                        \
  })

namespace sky::try_internal {
inline std::string Context() { return {}; }
template <class... Args>
std::string Context(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
}  // namespace sky::try_internal
