// SPDX-License-Identifier: Apache-2.0
// What differs between two looks at everything an API server stores, as lines for people: "Quota
// q-0: status.nodeName=n0". Scenarios print what a write did, and what broke the calm. Pure but for
// reading the server.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/api_server.h"

namespace sky::lab {

class Look {
 public:
  static Look At(ApiServer& api);
  Revision revision() const { return revision_; }

  // What happened from `before` until this look, in the order of the writes; an object that was
  // removed comes last. Writes that say nothing new are lines too; heartbeats of nodes and leases
  // are not.
  std::vector<std::string> Since(const Look& before) const;

 private:
  struct Seen {
    std::string label;  // "Pod default/train-0"
    int64_t revision = 0;
    std::string text;
    bool operator==(const Seen&) const = default;
  };
  std::map<std::string, Seen> objects_;  // by kind and uid
  Revision revision_ = 0;
};

}  // namespace sky::lab
