// SPDX-License-Identifier: Apache-2.0
// Jobs that wait, one after another, best first: at each level of the tree of queues the one with
// the best key, there the line whose head has the best key. What is planned between two calls moves
// the keys of the last job's line, of its queue and of all above it, and of nobody else, so only
// these are asked again (F48: keys are fixed on entering, renewed on return). Lives inside one
// action of one session.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "framework/session.h"

namespace sky::framework {

class JobsInOrder {
 public:
  JobsInOrder(const Session& session, const std::vector<model::JobId>& jobs);

  std::optional<model::JobId> Next();

 private:
  struct Waiting {
    model::JobId job;
    expr::OrderKey key;
    std::chrono::sys_seconds created;
    std::string_view name;
    bool operator<(const Waiting& other) const;
  };
  struct Line {
    std::vector<Waiting> jobs;  // the first at the end
    bool operator<(const Line& other) const { return jobs.back() < other.jobs.back(); }
  };
  struct Branch {
    model::QueueId queue;
    QueuePart part = QueuePart::kWhole;
    Branch* parent = nullptr;
    expr::OrderKey key;
    std::string_view name;
    bool operator<(const Branch& other) const;
    bool empty() const { return children.empty() && lines.empty(); }

    struct Before {
      template <class T>
      bool operator()(const T* a, const T* b) const {
        return *a < *b;
      }
    };
    // A whole queue has children, its own jobs among them; these have lines.
    std::set<Branch*, Before> children;
    std::set<Line*, Before> lines;
    std::map<std::pair<model::QueueId, QueuePart>, std::unique_ptr<Branch>> branches;
    std::map<size_t, std::unique_ptr<Line>> all_lines;
  };

  Branch& Child(Branch& parent, model::QueueId queue, QueuePart part);
  Branch& OwnJobs(model::QueueId queue);
  void Order(Branch& branch);
  void Renew();

  const Session& session_;
  Branch root_;
  Branch* served_ = nullptr;  // whose line the last job came from
};

}  // namespace sky::framework
