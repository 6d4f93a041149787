// SPDX-License-Identifier: Apache-2.0
// The CustomResourceDefinitions of deploy/crds, in the order of their file names, as they were when
// the program was built.
#pragma once

#include <span>
#include <string_view>

namespace sky::lab {

std::span<const std::string_view> EmbeddedCrds();  // YAML texts

}  // namespace sky::lab
