// SPDX-License-Identifier: Apache-2.0
// The CustomResourceDefinitions of deploy/crds, as they were when the program was built.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "lab/resources.h"

namespace sky::lab {

// The YAML texts, in the order of their file names.
std::span<const std::string_view> EmbeddedCrds();
// The same, read once a process; a definition that can't be read is a programming error.
// Thread-safe.
const CustomKinds& EmbeddedKinds();

}  // namespace sky::lab
