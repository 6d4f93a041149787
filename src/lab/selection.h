// SPDX-License-Identifier: Apache-2.0
// Which objects a list, watch or deletecollection is about: namespace, name, label and field
// selector. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/selectors.h"
#include "lab/call.h"
#include "lab/store.h"

namespace sky::lab {

class Selection {
 public:
  // Refuses malformed selectors and fields that the resource can't select by (400).
  static Answered<Selection> Of(const Call& call);

  bool Matches(const Object& object) const;
  // Nothing but a namespace was asked for.
  bool everything() const { return name_.empty() && !labels_ && fields_.empty(); }
  const std::string& ns() const { return ns_; }

 private:
  std::string ns_, name_;
  std::optional<api::LabelSelector> labels_;
  std::vector<api::FieldTerm> fields_;
};

}  // namespace sky::lab
