// SPDX-License-Identifier: Apache-2.0
#include "lab/reviews.h"

#include <nlohmann/json.hpp>

#include "lab/failure.h"

namespace sky::lab {
namespace {

struct Review {
  std::string_view path, group, kind;
};
constexpr Review kReviews[] = {{"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                "authorization.k8s.io", "SelfSubjectAccessReview"},
                               {"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                                "authorization.k8s.io", "SelfSubjectRulesReview"},
                               {"/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                "authentication.k8s.io", "SelfSubjectReview"}};

Json StatusOf(const Review& review) {
  const Json all = Json::array({"*"});
  if (review.kind == "SelfSubjectAccessReview")
    return {{"allowed", true}, {"reason", "the embedded server refuses nobody"}};
  if (review.kind == "SelfSubjectReview")
    return {{"userInfo",
             {{"username", "lab"},
              {"groups", Json::array({"system:masters", "system:authenticated"})}}}};
  return {
      {"resourceRules", Json::array({{{"verbs", all}, {"apiGroups", all}, {"resources", all}}})},
      {"nonResourceRules", Json::array({{{"verbs", all}, {"nonResourceURLs", all}}})},
      {"incomplete", false}};
}

}  // namespace

std::optional<server::Response> AnswerReview(const server::Request& request) {
  for (const Review& review : kReviews) {
    if (request.target.path != review.path) continue;
    if (request.method != "POST")
      return ToResponse(
          MethodNotAllowed("the server does not allow this method on the requested resource"));
    const auto body = ParseJson(request.body);
    const Json* spec = body ? Find(*body, {"spec"}) : nullptr;
    Json answer = {{"apiVersion", std::string(review.group) + "/v1"},
                   {"kind", review.kind},
                   {"metadata", {{"creationTimestamp", nullptr}}},
                   {"status", StatusOf(review)}};
    if (spec != nullptr) answer["spec"] = *spec;
    return server::Response{201, "application/json", {}, Dump(answer) + "\n"};
  }
  return std::nullopt;
}

}  // namespace sky::lab
