// SPDX-License-Identifier: Apache-2.0
#include "lab/in_process.h"

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace sky::lab {

Json Reply::json() const { return ParseJson(body).value_or(Json()); }
std::string Reply::message() const { return TextAt(json(), {"message"}); }

server::Request InProcess::MakeRequest(std::string_view method, std::string_view target,
                                       std::string body, std::string_view content_type,
                                       std::string_view accept) const {
  auto parsed = server::ParseTarget(target);
  SKY_CHECK(parsed.has_value(), "{}", target);
  server::Request request;
  request.method = method;
  request.target = *std::move(parsed);
  request.headers.push_back({"user-agent", agent_});
  if (!content_type.empty()) request.headers.push_back({"content-type", std::string(content_type)});
  if (!accept.empty()) request.headers.push_back({"accept", std::string(accept)});
  request.body = std::move(body);
  return request;
}

Reply InProcess::Do(std::string_view method, std::string_view target, std::string body,
                    std::string_view content_type, std::string_view accept) {
  server::Response response =
      api_.Handle(MakeRequest(method, target, std::move(body), content_type, accept));
  return {response.status, std::move(response.body)};
}

Reply InProcess::Get(std::string_view target, std::string_view accept) {
  return Do("GET", target, "", "", accept);
}
Reply InProcess::Post(std::string_view target, const Json& body) {
  return Do("POST", target, Dump(body), "application/json");
}
Reply InProcess::Put(std::string_view target, const Json& body) {
  return Do("PUT", target, Dump(body), "application/json");
}
Reply InProcess::Delete(std::string_view target, const Json* options) {
  return Do("DELETE", target, options == nullptr ? "" : Dump(*options), "application/json");
}
Reply InProcess::Patch(PatchType type, std::string_view target, const Json& body) {
  std::string_view content_type;
  switch (type) {
    case PatchType::kMerge:
      content_type = "application/merge-patch+json";
      break;
    case PatchType::kJson:
      content_type = "application/json-patch+json";
      break;
    case PatchType::kStrategic:
      content_type = "application/strategic-merge-patch+json";
      break;
    case PatchType::kApply:
      content_type = "application/apply-patch+yaml";
      break;
  }
  return Do("PATCH", target, Dump(body), content_type);
}

}  // namespace sky::lab
