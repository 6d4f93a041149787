// SPDX-License-Identifier: Apache-2.0
// The forms that Kubernetes asks of names: of labels, their values, objects and resources. Pure.
#pragma once

#include <string_view>

namespace sky::api {

// "app", "example.com/gpu": a name of at most 63 characters, behind it an optional DNS prefix.
bool IsQualifiedName(std::string_view text);
// At most 63 of letters, digits, '-', '_', '.', beginning and ending with a letter or digit; or
// empty.
bool IsLabelValue(std::string_view text);
// Of containers and namespaces: lower case letters, digits and '-', at most 63.
bool IsDnsLabel(std::string_view text);
// What most objects are named: lower case, at most 253 characters.
bool IsDnsSubdomain(std::string_view text);

}  // namespace sky::api
