// SPDX-License-Identifier: Apache-2.0
// Whatever state a cluster is left in: after a while nobody writes any more, through every deadline
// that somebody could be waiting for (invariant 6), and what the scheduler remembers is what a
// fresh start would read (invariant 2). The states come from random histories; what they hold goes
// through the API server, so that what its schema refuses is not part of them.
#include <gtest/gtest.h>

#include "lab/changes.h"
#include "lab/scene_for_test.h"
#include "testing/random_events.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

class CalmLaw {
 public:
  CalmLaw(uint64_t seed, framework::CommitOrder order) : events_(objects_, seed) {
    lab_ = MakeQuietLab(order, seed);
    events_.Begin();
    for (int i = 0; i < 15; ++i) Happen();
  }

  // "" when it holds; else what was written when nobody had a reason to.
  std::string Broken() {
    Store();
    lab_->StartScheduler();
    if (std::string why = Unquiet("at first"); !why.empty()) return why;
    for (int i = 0; i < 3; ++i) Happen();
    Store();
    if (std::string why = Unquiet("after more events"); !why.empty()) return why;
    bound_ = lab_->scheduler()->stats().bound;
    lab_->KillScheduler();
    lab_->StartScheduler();
    return Unquiet("after a restart", 20min, 20min);
  }
  const std::string& history() const { return history_; }
  uint64_t bound() const { return bound_; }  // by the scheduler

 private:
  void Happen() { history_ += events_.Next() + "\n"; }

  // Six minutes to settle: reasons, pictures, lost nodes, every back-off and startTimeout; twenty
  // for kept places and evictions that are remembered as refused too. Then calm.
  std::string Unquiet(const char* when, Duration settle = 6min, Duration calm = 3min) {
    lab_->Advance(settle);
    if (!lab_->scheduler()->Idle()) return fmt::format("{}: something never ends", when);
    const Look before = Look::At(lab_->api());
    const size_t told = lab_->events.size();
    if (lab_->AdvanceToWrite(calm))
      return fmt::format("{}: {}", when, fmt::join(Look::At(lab_->api()).Since(before), "\n"));
    if (lab_->events.size() != told) return fmt::format("{}: {}", when, lab_->events.back());
    const std::string difference = lab_->scheduler()->cache().Audit();
    return difference.empty() ? "" : fmt::format("{}:\n{}", when, difference);
  }

  // The API as the objects say: what is missing is made, what differs replaced, what is gone
  // deleted. A refusal leaves the old state.
  void Store() {
    StoreKind<api::PriorityClass>();
    StoreKind<api::Queue>();
    StoreKind<api::Node>();
    StoreKind<api::NodeTopology>();
    StoreKind<api::Quota>();
    StoreKind<api::PodGroup>();
    StoreKind<api::Pod>();
  }
  template <class T>
  void StoreKind() {
    const api::Kind& kind = api::KindOf<T>();
    for (const std::string& key : objects_.Keys<T>()) {
      T object = objects_.Get<T>(key);
      const bool leaving = object.metadata.deleting();
      const std::string ns = object.metadata.namespace_, name = object.metadata.name;
      object.metadata.uid = object.metadata.resource_version = "";
      object.metadata.deletion_timestamp = object.metadata.creation_timestamp = {};
      const std::string body = api::Encode(object);
      if (lab_->Call("POST", kind.Path(ns, ""), body).status == 409)
        lab_->Call("PATCH", kind.Path(ns, name), body, "application/merge-patch+json");
      if (kind.has_status)
        lab_->Call("PATCH", kind.Path(ns, name) + "/status", body, "application/merge-patch+json");
      // With a finalizer it stays as long as somebody holds it.
      if (leaving && kind.kind == "Quota") Hold(kind.Path(ns, name));
      if (leaving) lab_->Call("DELETE", kind.Path(ns, name));
    }
    for (const T& object : lab_->List<T>())
      if (std::ranges::count(objects_.Keys<T>(), object.metadata.Key()) == 0 &&
          object.metadata.name != "default")
        lab_->Call("DELETE", kind.Path(object.metadata.namespace_, object.metadata.name));
  }
  void Hold(const std::string& path) {
    lab_->Call("PATCH", path, R"({"metadata":{"finalizers":["example.com/held"]}})",
               "application/merge-patch+json");
  }

  testing::Cluster objects_;
  testing::RandomEvents events_;
  std::unique_ptr<Simulation> lab_;
  std::string history_;
  uint64_t bound_ = 0;
};

TEST(CalmLaw, EveryStateComesToRestAndStaysThere) {
  uint64_t bound = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const auto order = seed % 2 == 0 ? framework::CommitOrder::kQuotaFirst
                                     : framework::CommitOrder::kPlacementFirst;
    CalmLaw law(seed, order);
    const std::string broken = law.Broken();
    EXPECT_EQ(broken, "") << "seed " << seed << "\n" << law.history();
    if (!broken.empty()) break;
    bound += law.bound();
  }
  EXPECT_GT(bound, 8u) << "calm because nothing ever happened is no calm";
}

}  // namespace
}  // namespace sky::lab
