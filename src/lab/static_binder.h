// SPDX-License-Identifier: Apache-2.0
// Stands in for the controller that binds quotas statically, over an ApiServer in the same process:
// watches quotas and nodes and writes what controllers::StaticBindPatch says. Not thread-safe; the
// server must outlive it.
#pragma once

#include <set>
#include <string>

#include "api/core.h"
#include "api/crds.h"
#include "lab/local_feed.h"

namespace sky::lab {

class StaticBinder {
 public:
  explicit StaticBinder(ApiServer& api);
  // Takes in what has changed, and writes what is due. True when it wrote something.
  bool Step();

 private:
  bool Judge(const std::string& quota);

  InProcess client_;
  LocalFeed<api::Quota> quotas_;
  LocalFeed<api::Node> nodes_;
  std::set<std::string> asking_;  // quotas that ask for a node, or were bound to one
};

}  // namespace sky::lab
