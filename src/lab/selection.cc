// SPDX-License-Identifier: Apache-2.0
#include "lab/selection.h"

#include <algorithm>

namespace sky::lab {
namespace {

bool Selectable(const Resource& resource, std::string_view field) {
  return field == "metadata.name" || (field == "metadata.namespace" && resource.namespaced) ||
         std::ranges::find(resource.selectable_fields, field) != resource.selectable_fields.end();
}

}  // namespace

Answered<Selection> Selection::Of(const Call& call) {
  Selection selection;
  selection.ns_ = call.ns;
  selection.name_ = call.name;
  if (const std::string_view text = call.Query("labelSelector"); !text.empty()) {
    auto labels = api::ParseLabelSelector(text);
    if (!labels)
      return std::unexpected(BadRequest(
          fmt::format("unable to parse labelSelector \"{}\": {}", text, labels.error().message())));
    selection.labels_ = *std::move(labels);
  }
  if (const std::string_view text = call.Query("fieldSelector"); !text.empty()) {
    auto fields = api::ParseFieldSelector(text);
    if (!fields)
      return std::unexpected(BadRequest(
          fmt::format("unable to parse fieldSelector \"{}\": {}", text, fields.error().message())));
    for (const api::FieldTerm& term : *fields)
      if (!Selectable(*call.resource, term.path))
        return std::unexpected(BadRequest("field label not supported: " + term.path));
    selection.fields_ = *std::move(fields);
  }
  return selection;
}

bool Selection::Matches(const Object& object) const {
  if (!ns_.empty() && object.ns != ns_) return false;
  if (!name_.empty() && object.name != name_) return false;
  if (labels_ && !api::Matches(*labels_, object.labels)) return false;
  return std::ranges::all_of(fields_, [&](const api::FieldTerm& term) {
    const auto found = object.fields.find(term.path);
    const std::string_view value =
        found == object.fields.end() ? std::string_view() : std::string_view(found->second);
    return (value == term.value) == term.equal;
  });
}

}  // namespace sky::lab
