// SPDX-License-Identifier: Apache-2.0
#include "api/kinds.h"

#include <gtest/gtest.h>

#include <set>

namespace sky::api {
namespace {

TEST(Kinds, PathsFollowTheApiServersRules) {
  EXPECT_EQ(KindOf<Pod>().Path("a", "w-0"), "/api/v1/namespaces/a/pods/w-0");
  EXPECT_EQ(KindOf<Pod>().Path("a", ""), "/api/v1/namespaces/a/pods");
  EXPECT_EQ(KindOf<Pod>().Path("", ""), "/api/v1/pods");
  EXPECT_EQ(KindOf<Node>().Path("ignored", "n0"), "/api/v1/nodes/n0");
  EXPECT_EQ(KindOf<Quota>().Path("", "q-0"), "/apis/scheduling.infini-ai.com/v1alpha1/quotas/q-0");
  EXPECT_EQ(KindOf<Lease>().ApiVersion(), "coordination.k8s.io/v1");
  EXPECT_EQ(KindOf<Node>().ApiVersion(), "v1");
}

TEST(Kinds, APathKeepsToItsSegments) {
  EXPECT_EQ(KindOf<Quota>().Path("", "a/b?c=d e"),
            "/apis/scheduling.infini-ai.com/v1alpha1/quotas/a%2Fb%3Fc%3Dd%20e");
}

TEST(Kinds, EachIsFoundByGroupAndPluralAlone) {
  std::set<std::string> paths;
  for (const Kind& kind : AllKinds()) {
    EXPECT_EQ(FindKind(kind.group, kind.plural), &kind);
    EXPECT_TRUE(paths.insert(kind.Path("", "")).second);
  }
  EXPECT_EQ(FindKind("", "quotas"), nullptr);
  EXPECT_EQ(FindKind("scheduling.infini-ai.com", "pods"), nullptr);
}

TEST(Kinds, APlacementHasNoStatusSubresource) {
  EXPECT_FALSE(KindOf<Placement>().has_status);
  EXPECT_TRUE(KindOf<Quota>().has_status);
  EXPECT_FALSE(KindOf<Quota>().namespaced);
  EXPECT_EQ(KindOf<Quota>().short_name, "qo");
}

}  // namespace
}  // namespace sky::api
