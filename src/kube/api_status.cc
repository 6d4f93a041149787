// SPDX-License-Identifier: Apache-2.0
#include "kube/api_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace sky::kube {
namespace {

using nlohmann::json;

constexpr size_t kMostOfAPage = 200;

std::string TextOf(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t NumberOf(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

void ReadDetails(const json& details, ApiStatus& status) {
  status.retry_after = BoundedRetryAfter(NumberOf(details, "retryAfterSeconds"));
  const auto causes = details.find("causes");
  if (causes == details.end() || !causes->is_array()) return;
  for (const json& cause : *causes) {
    if (!cause.is_object()) continue;
    status.causes.push_back(
        {TextOf(cause, "reason"), TextOf(cause, "field"), TextOf(cause, "message")});
  }
}

// False when the text isn't a Status object.
bool ReadStatus(std::string_view text, ApiStatus& status) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || TextOf(root, "kind") != "Status") return false;
  status.code = static_cast<int>(std::clamp<int64_t>(NumberOf(root, "code"), 0, 999));
  status.reason = TextOf(root, "reason");
  status.message = TextOf(root, "message");
  const auto details = root.find("details");
  if (details != root.end() && details->is_object()) ReadDetails(*details, status);
  return true;
}

std::string Shortened(std::string_view text) {
  std::string line;
  for (const char c : CutText(text, kMostOfAPage))
    line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  if (text.size() > kMostOfAPage) line += "…";
  return line;
}

}  // namespace

bool ApiStatus::Has(std::string_view cause_reason) const {
  return std::ranges::any_of(causes,
                             [&](const Cause& cause) { return cause.reason == cause_reason; });
}

ApiStatus ParseApiStatus(int http_status, std::string_view body) {
  ApiStatus status;
  if (!ReadStatus(body, status)) status.message = Shortened(body);
  status.code = http_status;
  return status;
}

ApiStatus ParseApiStatusObject(std::string_view json) {
  ApiStatus status;
  if (!ReadStatus(json, status)) status.message = Shortened(json);
  return status;
}

Code CodeOf(const ApiStatus& status) {
  switch (status.code) {
    case 401:
      return Code::kUnauthorized;
    case 403:
      return Code::kForbidden;
    case 404:
      return Code::kNotFound;
    case 408:
      return Code::kUnknownOutcome;
    case 409:
      return status.reason == "AlreadyExists" ? Code::kAlreadyExists : Code::kConflict;
    case 410:
      return Code::kExpired;
    case 429:
      return Code::kTooManyRequests;
    default:
      break;
  }
  if (status.code >= 500) return Code::kUnknownOutcome;
  if (status.code >= 400) return Code::kInvalid;
  // Only an ERROR event can come without a code.
  return status.reason == "Expired" || status.reason == "Gone" ? Code::kExpired : Code::kInternal;
}

Error ToError(const ApiStatus& status) {
  std::string text =
      fmt::format("{}{}{}", status.code, status.reason.empty() ? "" : " ", status.reason);
  if (!status.message.empty()) text += ": " + status.message;
  for (const ApiStatus::Cause& cause : status.causes) {
    // The message of a 422 repeats its causes; name those that it leaves out.
    if (!cause.message.empty() && text.find(cause.message) != std::string::npos) continue;
    text += fmt::format("; {}{}{}{}{}", cause.reason, cause.field.empty() ? "" : " at ",
                        cause.field, cause.message.empty() ? "" : ": ", cause.message);
  }
  return Error(CodeOf(status), std::move(text)).RetryAfter(status.retry_after);
}

Error ToError(const Response& response) {
  ApiStatus status = ParseApiStatus(response.status, response.body);
  status.retry_after = std::max(status.retry_after, response.retry_after);
  return ToError(status);
}

}  // namespace sky::kube
