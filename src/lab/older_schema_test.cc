// SPDX-License-Identifier: Apache-2.0
// Objects that today's schema refuses may stand in the API server since an older one: every bad
// object of tests/data reaches the scheduler all the same, one at a time, as its watch would bring
// it. It hurts only those who use it, they and it say so, and everybody else runs in the same
// cycle.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/validate.h"
#include "kube/informer.h"
#include "lab/document.h"
#include "testing/cluster.h"

namespace sky::lab {
namespace {

struct Bad {
  std::string name, kind;
  Json object;
};

std::vector<Bad> BadObjects() {
  std::ifstream in(std::string(SKY_SOURCE_DIR) + "/tests/data/bad_objects.yaml");
  std::stringstream text;
  text << in.rdbuf();
  std::vector<Bad> all;
  const auto documents = ParseYaml(text.str());
  EXPECT_TRUE(documents.has_value());
  for (const Json& one : (*documents)[0])
    all.push_back({one["name"], one["object"]["kind"], one["object"]});
  return all;
}

// A cluster of one healthy gang, and whatever uses the bad object.
class World {
 public:
  World() {
    c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=1 hca=1");
    c.Job("healthy", 4, "gpu=1 hca=1");
  }

  // False: it doesn't decode, so it is left out.
  template <class T>
  bool Feed(Json object) {
    object["metadata"]["uid"] = "bad-uid";
    object["metadata"]["resourceVersion"] = "1";
    bool read = false;
    kube::InformerCallbacks<T> callbacks;
    callbacks.on_delta = [&](const api::Delta<T>& delta) {
      read = true;
      c.cache().Apply(delta);
    };
    callbacks.on_bad = [&](const std::string& key, const std::optional<kube::BadItem>& bad) {
      EXPECT_TRUE(bad.has_value());
      unreadable = key;
    };
    kube::ObjectStore<T> store(std::move(callbacks));
    store.BeginReplace();
    store.EndReplace(false);
    store.Upsert(object.dump());
    return read;
  }

  // Everybody healthy runs at once; `waits` doesn't, for that reason ("": nobody asks).
  void Expect(const std::string& waits, const std::string& reason) {
    const std::vector<testing::Bound> bound = c.Cycle();
    EXPECT_EQ(bound.size(), 4u);
    for (const testing::Bound& one : bound) EXPECT_TRUE(one.pod.starts_with("healthy")) << one.pod;
    if (!waits.empty()) {
      EXPECT_EQ(c.Why(waits), reason) << c.Detail(waits);
    }
    for (const cache::Complaint& complaint : c.cache().TakeComplaints())
      told.push_back(complaint.about.kind + " " + complaint.reason);
    EXPECT_EQ(c.Cycle().size(), 0u);
    EXPECT_TRUE(c.cache().TakeComplaints().empty()) << "each is told once";
  }
  bool Told(const std::string& what) const { return std::ranges::count(told, what) > 0; }

  testing::Cluster c;
  std::string unreadable;
  std::vector<std::string> told;
};

template <class T>
bool Breaks(const Json& object) {
  const auto decoded = api::Decode<T>(object.dump());
  return decoded && !api::Validate(*decoded).empty();
}

TEST(OlderSchema, ABadPodGroupKeepsItsPodsWaiting) {
  size_t seen = 0;
  for (const Bad& bad : BadObjects()) {
    if (bad.kind != "PodGroup") continue;
    SCOPED_TRACE(bad.name);
    ++seen;
    World world;
    world.c.Quotas("mine[0-1]", "gpu=1 hca=1").Workers("bad", 0, 0, "gpu=1 hca=1");
    if (!world.Feed<api::PodGroup>(bad.object))
      world.Expect("default/bad", "NoPodGroup");
    else if (Breaks<api::PodGroup>(bad.object))
      world.Expect("default/bad", "InvalidObject");
    else
      EXPECT_EQ(world.c.Cycle().size(), 5u) << "today's schema asks more than the scheduler";
  }
  EXPECT_GE(seen, 6u);
}

TEST(OlderSchema, ABadQueueKeepsItsJobsWaiting) {
  size_t seen = 0;
  for (const Bad& bad : BadObjects()) {
    if (bad.kind != "Queue") continue;
    SCOPED_TRACE(bad.name);
    ++seen;
    World world;
    world.c.Quotas("mine", "gpu=1 hca=1 queue=bad");
    world.c.Job("user", 1, "gpu=1 hca=1", {0, "queue=bad"});
    if (!world.Feed<api::Queue>(bad.object)) {
      world.Expect("default/user", "QueueNotFound");
    } else if (Breaks<api::Queue>(bad.object)) {
      world.Expect("default/user", "InvalidObject");
      EXPECT_TRUE(world.Told("Queue InvalidObject"));
    } else {
      EXPECT_EQ(world.c.Cycle().size(), 5u);
    }
  }
  EXPECT_GE(seen, 7u);
}

TEST(OlderSchema, ABadQuotaIsUsedByNobody) {
  size_t seen = 0, read = 0;
  for (const Bad& bad : BadObjects()) {
    if (bad.kind != "Quota") continue;
    SCOPED_TRACE(bad.name);
    ++seen;
    World world;
    world.c.Queue("train");
    world.c.Job("user", 1, "cpu=1", {0, "queue=train"});
    if (!world.Feed<api::Quota>(bad.object)) {
      EXPECT_EQ(world.unreadable, "bad");
      world.Expect("default/user", "InsufficientQuota");
    } else if (Breaks<api::Quota>(bad.object)) {
      ++read;
      world.Expect("default/user", "InsufficientQuota");
      EXPECT_TRUE(world.Told("Quota InvalidObject"));
    } else {
      // What nobody knows is ignored; what is larger than any number fits nowhere.
      const size_t bound = world.c.Cycle().size();
      EXPECT_TRUE(bound == 5 || (bound == 4 && !world.c.Why("default/user").empty())) << bound;
    }
  }
  EXPECT_GE(seen, 19u);
  EXPECT_GE(read, 10u);
}

// Fields of a quota may be bad in any number and company: ten thousand queues, its own among them.
TEST(OlderSchema, AQuotaSharedWithTenThousandQueuesIsUsedByNobody) {
  World world;
  api::Quota quota = testing::MakeQuota("bad", *testing::ReadWords("cpu=1"));
  for (int i = 0; i < 10'000; ++i) quota.spec.shared_queues.push_back(fmt::format("queue-{}", i));
  world.c.Put(quota);
  world.c.Queue("queue-77").Job("user", 1, "cpu=1", {0, "queue=queue-77"});
  world.Expect("default/user", "InsufficientQuota");
  EXPECT_TRUE(world.Told("Quota InvalidObject"));
  world.c.Remove<api::Quota>("bad");
  world.c.Audit();
}

TEST(OlderSchema, ABadPlacementBindsNobodyAndBreaksNothing) {
  size_t seen = 0;
  for (const Bad& bad : BadObjects()) {
    if (bad.kind != "Placement") continue;
    SCOPED_TRACE(bad.name);
    ++seen;
    World world;
    // Its group and its pod are there, so that only its tables are wrong.
    api::PodGroup group = testing::MakeGroup("bad", 2, {});
    group.metadata.uid = "u";
    world.c.Put(group);
    api::Pod pod = testing::MakeWorker("bad", "w-0", *testing::ReadWords("gpu=1 hca=1"));
    pod.metadata.uid = "a";
    world.c.Put(pod);
    EXPECT_TRUE(world.Feed<api::Placement>(bad.object));
    const auto placement = world.c.cache().FindPlacement("default/bad");
    ASSERT_NE(placement, nullptr);
    cache::Adoption adoption = world.c.cache().CheckPlacement(*placement);
    for (const cache::RoundEntry& entry : adoption.round.entries)
      EXPECT_TRUE(entry.quota.valid() && entry.node.valid());
    if (!adoption.round.entries.empty()) world.c.cache().Adopt(adoption.round);
    world.c.Audit();
    if (adoption.round.entries.empty()) world.Expect("default/bad", "NotEnoughPods");
  }
  EXPECT_GE(seen, 5u);
}

}  // namespace
}  // namespace sky::lab
