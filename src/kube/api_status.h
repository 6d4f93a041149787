// SPDX-License-Identifier: Apache-2.0
// What an answer that isn't 2xx means: the Status object that Kubernetes sends, and its place among
// our error codes. Pure. A definite refusal has a code of its own; whatever leaves open whether a
// write was carried out (408, 5xx) is kUnknownOutcome, and 429 is kTooManyRequests with the wait
// that it asks for.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/transport.h"

namespace sky::kube {

struct ApiStatus {
  struct Cause {
    std::string reason, field, message;
    bool operator==(const Cause&) const = default;
  };
  int code = 0;
  std::string reason, message;  // reason: "AlreadyExists", "Expired", … or empty
  std::vector<Cause> causes;
  std::chrono::milliseconds retry_after{0};

  bool Has(std::string_view cause_reason) const;
};

// Never fails: a body that is no Status (a proxy's page) becomes the message, shortened.
ApiStatus ParseApiStatus(int http_status, std::string_view body);
// A Status object, as it comes in ERROR events of a watch.
ApiStatus ParseApiStatusObject(std::string_view json);

Code CodeOf(const ApiStatus& status);
Error ToError(const ApiStatus& status);
// Of a response that isn't ok().
Error ToError(const Response& response);

}  // namespace sky::kube
