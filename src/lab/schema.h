// SPDX-License-Identifier: Apache-2.0
// The structural schema of a custom kind (openAPIV3Schema): prunes what it doesn't know, fills in
// defaults, checks types and bounds, with the API server's words. CEL rules are not read:
// api::Validate stands in for them. Immutable, so thread-safe.
#pragma once

#include <map>
#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "lab/document.h"
#include "lab/failure.h"

namespace sky::lab {

class Schema {
 public:
  // Refuses a pattern that can't be compiled.
  static Result<std::shared_ptr<const Schema>> Make(const Json& open_api_schema);

  // Removes unknown members; returns their paths ("spec.quue").
  std::vector<std::string> Prune(Json& document) const;
  void FillDefaults(Json& document) const;
  std::vector<Cause> Check(const Json& document) const;

  const Json& json() const { return *json_; }

 private:
  Status Compile(const Json& schema);
  void CheckValue(const Json& schema, const Json& value, const std::string& path,
                  std::vector<Cause>& out) const;
  void CheckText(const Json& schema, const std::string& value, const std::string& path,
                 std::vector<Cause>& out) const;
  void CheckObject(const Json& schema, const Json& value, const std::string& path,
                   std::vector<Cause>& out) const;
  void CheckList(const Json& schema, const Json& value, const std::string& path,
                 std::vector<Cause>& out) const;
  void CheckCombined(const Json& schema, const Json& value, const std::string& path,
                     std::vector<Cause>& out) const;

  std::shared_ptr<const Json> json_;
  std::map<std::string, std::regex> patterns_;
};

}  // namespace sky::lab
