// SPDX-License-Identifier: Apache-2.0
// "May I?" and "who am I?" (kubectl auth can-i, whoami): kinds that are answered and never stored.
// The embedded server has one user, who may do everything. Pure.
#pragma once

#include <optional>

#include "server/http.h"

namespace sky::lab {

// nullopt when the path is none of theirs.
std::optional<server::Response> AnswerReview(const server::Request& request);

}  // namespace sky::lab
