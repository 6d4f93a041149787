// SPDX-License-Identifier: Apache-2.0
// Raw JSON documents: the embedded API server keeps objects as what was sent, so that nothing is
// lost. Reading a member that isn't there, or has another type, gives nothing instead of throwing.
// Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta.h"
#include "base/result.h"

namespace sky::lab {

using Json = nlohmann::json;
using Path = std::initializer_list<std::string_view>;

// nullptr when a step is missing, or its parent no object.
const Json* Find(const Json& document, Path path);
Json* Find(Json& document, Path path);
// "" when it isn't a text.
std::string TextAt(const Json& document, Path path);
std::optional<int64_t> IntAt(const Json& document, Path path);
bool BoolAt(const Json& document, Path path);
// The object at this place; missing ones are made, anything else there is replaced.
Json& MapAt(Json& document, Path path);
// Removes the member; a parent that isn't there is fine.
void Erase(Json& document, Path path);
// The texts of a map or a list; members of other types are left out.
api::StringMap StringsAt(const Json& document, Path path);
std::vector<std::string> TextsAt(const Json& document, Path path);
// Two members are equal, or absent in both.
bool SameAt(const Json& a, const Json& b, Path path);
// Makes `to` have what `from` has there, or nothing.
void CopyAt(const Json& from, Json& to, Path path);

// One JSON value. Nesting deeper than 200 is refused; members that occur twice are named in
// `duplicates` by their path ("spec.queue") and the last one wins.
Result<Json> ParseJson(std::string_view text, std::vector<std::string>* duplicates = nullptr);
// Compact, and never throws: bytes that aren't UTF-8 are replaced.
std::string Dump(const Json& document);

// The documents of a YAML stream (JSON is YAML too) as JSON, scalars typed as Kubernetes types
// them; empty documents are left out. Refuses anchors that refer to themselves, duplicate keys and
// keys that aren't text, with line and column.
Result<std::vector<Json>> ParseYaml(std::string_view text);

}  // namespace sky::lab
