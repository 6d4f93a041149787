// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

namespace sky {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "Invalid";
    case Code::kNotFound:
      return "NotFound";
    case Code::kAlreadyExists:
      return "AlreadyExists";
    case Code::kConflict:
      return "Conflict";
    case Code::kExpired:
      return "Expired";
    case Code::kUnauthorized:
      return "Unauthorized";
    case Code::kForbidden:
      return "Forbidden";
    case Code::kTooManyRequests:
      return "TooManyRequests";
    case Code::kUnknownOutcome:
      return "UnknownOutcome";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kCancelled:
      return "Cancelled";
    case Code::kInternal:
      return "Internal";
  }
  return "Internal";
}

Error Error::With(std::string_view context) && {
  if (!context.empty()) message_ = fmt::format("{}: {}", context, message_);
  return std::move(*this);
}

Error Error::RetryAfter(std::chrono::milliseconds wait) && {
  retry_after_ = wait;
  return std::move(*this);
}

}  // namespace sky
