// SPDX-License-Identifier: Apache-2.0
#include "lab/own_rules.h"

#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/validate.h"

namespace sky::lab {
namespace {

template <class T>
void ValidateAs(const Json& document, std::vector<Cause>& out) {
  const auto object = api::Decode<T>(Dump(document));
  if (!object) {
    out.push_back({"FieldValueInvalid", "Invalid value: " + object.error().message(), ""});
    return;
  }
  for (const api::Violation& violation : api::Validate(*object))
    out.push_back(
        {"FieldValueInvalid", "Invalid value: \"object\": " + violation.message, violation.field});
}

}  // namespace

void CheckOwnKind(const Resource& resource, const Json& document, std::vector<Cause>& out) {
  if (resource.group != api::kGroup || resource.version != api::kVersion) return;
  if (resource.kind == "PodGroup") ValidateAs<api::PodGroup>(document, out);
  if (resource.kind == "Queue") ValidateAs<api::Queue>(document, out);
  if (resource.kind == "Quota") ValidateAs<api::Quota>(document, out);
  if (resource.kind == "JobQueue") ValidateAs<api::JobQueue>(document, out);
  if (resource.kind == "NodeTopology") ValidateAs<api::NodeTopology>(document, out);
  if (resource.kind == "Placement") ValidateAs<api::Placement>(document, out);
  if (resource.kind == "QuotaSet") ValidateAs<api::QuotaSet>(document, out);
}

}  // namespace sky::lab
