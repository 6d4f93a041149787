// SPDX-License-Identifier: Apache-2.0
// Ten thousand groups whose names begin alike and stand in a hundred namespaces that begin alike:
// nobody is taken for somebody else.
#include <gtest/gtest.h>

#include "api/keys.h"
#include "testing/cluster.h"

namespace sky::cache {
namespace {

using testing::Cluster;

struct Crowd : ::testing::Test {
  static constexpr int kNamespaces = 100, kNames = 100;
  // "a", "a-a", "a-a-a", … beside "a-1", "a-11", …: each begins with the one before.
  static std::string Namespace(int i) {
    std::string name = "a";
    for (int k = 0; k < i % 10; ++k) name += "-a";
    return i < 10 ? name
                  : fmt::format("{}-{}", name, std::string(static_cast<size_t>(i / 10), '1'));
  }
  static std::string Name(int i) { return Namespace(i); }

  void Fill(int namespaces) {
    const auto words = *testing::ReadWords("gpu=1");
    for (int n = 0; n < namespaces; ++n)
      for (int i = 0; i < kNames; ++i) {
        api::PodGroup group = testing::MakeGroup(Name(i), 1, {});
        group.metadata.namespace_ = Namespace(n);
        c.Put(std::move(group));
        api::Pod pod = testing::MakeWorker(Name(i), Name(i), words);
        pod.metadata.namespace_ = Namespace(n);
        c.Put(std::move(pod));
      }
  }
  // Jobs whose members are exactly the one pod that names them.
  static int Own(const model::Cluster& cluster) {
    int own = 0;
    for (size_t i = 0; i < cluster.jobs().size(); ++i) {
      const model::Job& job = cluster.jobs()[model::JobId(i)];
      if (!job.live || !job.object || job.members.size() != 1) continue;
      const api::Pod& pod = *cluster.tasks()[job.members[0]].facts->pod;
      if (pod.metadata.namespace_ == job.object->metadata.namespace_ &&
          pod.metadata.Annotation(api::key::kGroupName) == job.object->metadata.name)
        ++own;
    }
    return own;
  }

  Cluster c;
};

TEST_F(Crowd, EveryGroupHasItsOwnPodAndNoOther) {
  Fill(kNamespaces);
  EXPECT_EQ(Own(c.cache().Copy()), kNamespaces * kNames);
  // One namespace goes: that one alone.
  for (int i = 0; i < kNames; ++i) {
    c.Remove<api::PodGroup>(Namespace(1) + "/" + Name(i));
    c.Remove<api::Pod>(Namespace(1) + "/" + Name(i));
  }
  const model::Cluster after = c.cache().Copy();
  EXPECT_EQ(Own(after), (kNamespaces - 1) * kNames);
  EXPECT_FALSE(after.jobs().Find(Namespace(1) + "/" + Name(0)).valid());
  EXPECT_TRUE(after.jobs().Find(Namespace(0) + "/" + Name(0)).valid());
  EXPECT_EQ(c.cache().Audit(), "");
}

TEST_F(Crowd, QuotasThatBeginAlikeHoldTheirOwnTasks) {
  c.Nodes("n0", "gpu=500 pods=500");
  for (int i = 0; i < kNames; ++i) c.Quotas(Name(i), "gpu=1");
  Fill(1);
  // Each demands the quota of its own name.
  for (int i = 0; i < kNames; ++i)
    c.Edit<api::Pod>(Namespace(0) + "/" + Name(i), [&](api::Pod& pod) {
      pod.metadata.annotations.insert_or_assign(std::string(api::key::kRequiredQuota), Name(i));
    });
  const std::vector<testing::Bound> bound = c.Cycle();
  EXPECT_EQ(bound.size(), static_cast<size_t>(kNames));
  for (const testing::Bound& one : bound) EXPECT_EQ(one.pod, one.quota);
}

}  // namespace
}  // namespace sky::cache
