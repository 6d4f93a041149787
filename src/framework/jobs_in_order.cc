// SPDX-License-Identifier: Apache-2.0
#include "framework/jobs_in_order.h"

#include <algorithm>

#include "base/natural.h"

namespace sky::framework {

using model::JobId;
using model::QueueId;

namespace {

// Of the group, or of the pod of a job of one.
std::chrono::sys_seconds Created(const model::Cluster& cluster, const model::Job& job) {
  const api::ObjectMeta* meta = nullptr;
  if (job.object)
    meta = &job.object->metadata;
  else if (!job.members.empty())
    meta = &cluster.tasks()[job.members.front()].facts->meta();
  return std::chrono::floor<std::chrono::seconds>(
      meta == nullptr ? WallTime{} : meta->creation_timestamp.at.value_or(WallTime{}));
}

}  // namespace

bool JobsInOrder::Waiting::operator<(const Waiting& other) const {
  if (const auto order = expr::CompareKeys(key, other.key); order != 0) return std::is_lt(order);
  if (created != other.created) return created < other.created;
  return NaturalLess{}(name, other.name);
}

bool JobsInOrder::Branch::operator<(const Branch& other) const {
  if (const auto order = expr::CompareKeys(key, other.key); order != 0) return std::is_lt(order);
  if (name != other.name) return NaturalLess{}(name, other.name);
  return part < other.part;
}

JobsInOrder::JobsInOrder(const Session& session, const std::vector<JobId>& jobs)
    : session_(session) {
  const model::Cluster& cluster = session.cluster();
  for (const JobId id : jobs) {
    const model::Job& job = cluster.jobs()[id];
    auto& line = OwnJobs(job.queue).all_lines[session.line_of ? session.line_of(id) : 0];
    if (!line) line = std::make_unique<Line>();
    line->jobs.push_back({id, session.KeyOf(id), Created(cluster, job), job.name});
  }
  Order(root_);
}

JobsInOrder::Branch& JobsInOrder::Child(Branch& parent, QueueId queue, QueuePart part) {
  auto& child = parent.branches[{queue, part}];
  if (child) return *child;
  child = std::make_unique<Branch>();
  child->queue = queue;
  child->part = part;
  child->parent = &parent;
  if (queue.valid()) child->name = session_.cluster().queues()[queue].name;
  return *child;
}

JobsInOrder::Branch& JobsInOrder::OwnJobs(QueueId queue) {
  Branch* at = &root_;
  const std::vector<QueueId> chain = QueueChain(session_.cluster(), queue);
  for (size_t i = chain.size(); i-- > 0;) at = &Child(*at, chain[i], QueuePart::kWhole);
  return Child(*at, queue, QueuePart::kOwnJobs);
}

void JobsInOrder::Order(Branch& branch) {
  for (auto& [number, line] : branch.all_lines) {
    std::sort(line->jobs.begin(), line->jobs.end(),
              [](const Waiting& a, const Waiting& b) { return b < a; });
    branch.lines.insert(line.get());
  }
  for (auto& [id, child] : branch.branches) {
    Order(*child);
    if (child->queue.valid()) child->key = session_.KeyOf(child->queue, child->part);
    branch.children.insert(child.get());
  }
}

// The last job has left its line; whatever was planned for it has moved the keys above it.
void JobsInOrder::Renew() {
  if (served_ == nullptr) return;
  Line* line = *served_->lines.begin();
  served_->lines.erase(served_->lines.begin());
  line->jobs.pop_back();
  if (!line->jobs.empty()) {
    line->jobs.back().key = session_.KeyOf(line->jobs.back().job);
    served_->lines.insert(line);
  }
  for (Branch* at = served_; at->parent != nullptr; at = at->parent) {
    at->parent->children.erase(at->parent->children.begin());
    if (at->empty()) continue;
    if (at->queue.valid()) at->key = session_.KeyOf(at->queue, at->part);
    at->parent->children.insert(at);
  }
  served_ = nullptr;
}

std::optional<JobId> JobsInOrder::Next() {
  Renew();
  Branch* at = &root_;
  while (!at->children.empty()) at = *at->children.begin();
  if (at->lines.empty()) return std::nullopt;
  served_ = at;
  return (*at->lines.begin())->jobs.back().job;
}

}  // namespace sky::framework
