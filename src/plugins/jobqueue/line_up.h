// SPDX-License-Identifier: Apache-2.0
// Who stands before whom in JobQueues that are StrictFIFO, as one session finds it. The head holds
// the line up only while it waits for nothing but room that the empty cluster would have: while it
// is complete, ungated and feasible there. Otherwise it is passed over, and regains its place when
// that changes. Made at the first question, from what waits; lives inside one session.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "framework/session.h"

namespace sky::plugins {

class LineUp {
 public:
  // `remembered`: did a job that nobody looks at in this cycle hold its line up, when it was last?
  LineUp(const framework::Session& session, std::function<bool(const model::Job&)> remembered);

  // Nobody before it holds the line up.
  bool IsFirst(model::JobId job);
  // There is somebody whom it could hold up.
  bool HasCompany(model::JobId job);

  // Is this refusal for want of room alone?
  static bool HoldsUp(const model::Cluster& cluster, model::JobId job,
                      const framework::Refusals& why);

 private:
  struct Line {
    std::vector<model::JobId> jobs;  // best first
    std::map<model::JobId, size_t> place;
    size_t free_before = 0;  // nobody before this place holds the line up
  };
  void Make();
  bool HoldsUp(model::JobId job) const;

  const framework::Session& session_;
  std::function<bool(const model::Job&)> remembered_;
  bool made_ = false;
  std::map<model::JobQueueId, Line> lines_;
};

}  // namespace sky::plugins
