// SPDX-License-Identifier: Apache-2.0
#include "framework/jobs_in_order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "testing/open_session.h"

namespace sky::framework {
namespace {

using testing::Cluster;
using testing::OpenSession;

// Keys that the test moves by hand, as planning would.
class Keys final : public Plugin {
 public:
  std::string_view name() const override { return "priority"; }
  void OnSessionOpen(Session& session) override {
    const model::Cluster& cluster = session.cluster();
    session.queue_order.Add("priority", [&](model::QueueId queue, QueuePart part) {
      return queues[{cluster.queues()[queue].name, part}];
    });
    session.job_order.Add("priority", [&](model::JobId job) {
      return jobs[cluster.jobs()[job].name] + lines[Line(cluster.jobs()[job].name)] * 1000;
    });
    session.line_of = [&](model::JobId job) { return Line(cluster.jobs()[job].name); };
  }
  static size_t Line(const std::string& job) { return static_cast<size_t>(job.back() - '0') % 3; }

  std::map<std::pair<std::string, QueuePart>, int64_t> queues;
  std::map<std::string, int64_t> jobs;
  std::map<size_t, int64_t> lines;
};

void AddQueue(Cluster& c, const std::string& name, const std::string& parent) {
  api::Queue queue;
  queue.metadata.name = name;
  queue.spec.parent = parent;
  c.Put(std::move(queue));
}

std::vector<model::JobId> All(const OpenSession& open) {
  return {open.rows().waiting_jobs().begin(), open.rows().waiting_jobs().end()};
}

TEST(JobsInOrder, GoesDownTheTreeOfQueuesAndComesBackToWhoeverIsBestNow) {
  Cluster c;
  AddQueue(c, "left", ""), AddQueue(c, "right", ""), AddQueue(c, "below", "left");
  for (const auto& [job, queue] : {std::pair("a1", "below"),
                                   {"a4", "below"},
                                   {"b1", "left"},
                                   {"c1", "right"},
                                   {"c4", "right"}})
    c.Job(job, 1, "gpu=1", {0, std::string("queue=") + queue});
  auto owned = std::make_unique<Keys>();
  Keys& keys = *owned;
  keys.queues[{"right", QueuePart::kWhole}] = 2;
  keys.queues[{"left", QueuePart::kOwnJobs}] = 1;
  OpenSession open(c, std::move(owned));
  JobsInOrder order(*open, All(open));
  const auto next = [&] {
    const auto job = order.Next();
    return job ? open.rows().jobs()[*job].name.substr(8) : std::string("none");
  };
  EXPECT_EQ(next(), "a1") << "left before right, below before its own";
  keys.queues[{"below", QueuePart::kWhole}] = 2;  // planned: it uses more now
  EXPECT_EQ(next(), "b1") << "left's own jobs are the poorer child now";
  keys.queues[{"left", QueuePart::kWhole}] = 3;
  EXPECT_EQ(next(), "c1") << "right is the poorer queue now";
  keys.queues[{"right", QueuePart::kWhole}] = 4;
  EXPECT_EQ(next(), "a4");
  EXPECT_EQ(next(), "c4");
  EXPECT_EQ(next(), "none");
  EXPECT_EQ(next(), "none");
}

// Against the definition: at each level the child with the least key of now, and of the lines the
// one whose head is least. Whatever is planned moves the keys of the job's line and of the queues
// above it, up or down.
RC_GTEST_PROP(JobsInOrder, ServesTheBestOfNowAfterEveryPlan, (uint64_t seed)) {
  Rng rng(seed);
  Cluster c;
  const std::vector<std::string> names = {"default", "q1", "q2", "q3", "q4"};
  for (size_t i = 1; i < names.size(); ++i)
    AddQueue(c, names[i], rng.Below(2) ? names[rng.Below(i)] : "");
  auto owned = std::make_unique<Keys>();
  Keys& keys = *owned;
  for (int i = 0; i < 14; ++i) {
    const std::string name = fmt::format("j{}", i);
    c.Job(name, 1, "gpu=1", {0, "queue=" + names[rng.Below(names.size())]});
    keys.jobs["default/" + name] = static_cast<int64_t>(rng.Below(3));
  }
  for (const std::string& name : names)
    for (const QueuePart part : {QueuePart::kWhole, QueuePart::kOwnJobs})
      keys.queues[{name, part}] = static_cast<int64_t>(rng.Below(3));
  OpenSession open(c, std::move(owned));
  const model::Cluster& rows = open.rows();
  std::vector<model::JobId> left = All(open);
  JobsInOrder order(*open, left);

  // Within a line the order of the beginning; its head's key is of now.
  using Step = std::tuple<int64_t, std::string, QueuePart>;
  using Rank = std::pair<std::vector<Step>, std::pair<int64_t, std::string>>;
  const auto path = [&](model::JobId job) {
    std::vector<Step> steps;
    const auto chain = QueueChain(rows, rows.jobs()[job].queue);
    for (size_t i = chain.size(); i-- > 0;) {
      const std::string& name = rows.queues()[chain[i]].name;
      steps.emplace_back(keys.queues[{name, QueuePart::kWhole}], name, QueuePart::kWhole);
    }
    const std::string& own = rows.queues()[chain.front()].name;
    steps.emplace_back(keys.queues[{own, QueuePart::kOwnJobs}], own, QueuePart::kOwnJobs);
    return steps;
  };
  const auto natural = [&](model::JobId job) {
    const std::string& name = rows.jobs()[job].name;  // "default/j7", "default/j12"
    return name.size() == 10 ? name.substr(0, 9) + "0" + name.substr(9) : name;
  };
  while (const auto served = order.Next()) {
    std::map<std::pair<model::QueueId, size_t>, model::JobId> heads;
    for (const model::JobId job : left) {
      const auto at =
          heads.try_emplace({rows.jobs()[job].queue, Keys::Line(rows.jobs()[job].name)}, job).first;
      const auto key = [&](model::JobId one) {
        return std::pair(keys.jobs[rows.jobs()[one].name], natural(one));
      };
      if (key(job) < key(at->second)) at->second = job;
    }
    std::optional<std::pair<Rank, model::JobId>> best;
    for (const auto& [line, job] : heads) {
      const std::string& name = rows.jobs()[job].name;
      Rank rank = {path(job),
                   {keys.jobs[name] + keys.lines[Keys::Line(name)] * 1000, natural(job)}};
      if (!best || rank < best->first) best.emplace(std::move(rank), job);
    }
    RC_ASSERT(best->second == *served);
    std::erase(left, *served);
    if (rng.Below(2) == 0) continue;  // it found no place
    // The line's number is shared by the queues here; only this queue's may move.
    for (const model::QueueId queue : QueueChain(rows, rows.jobs()[*served].queue)) {
      keys.queues[{rows.queues()[queue].name, QueuePart::kWhole}] =
          static_cast<int64_t>(rng.Below(4));
    }
    keys.queues[{rows.jobs()[*served].queue_name, QueuePart::kOwnJobs}] =
        static_cast<int64_t>(rng.Below(4));
  }
  RC_ASSERT(left.empty());
}

}  // namespace
}  // namespace sky::framework
