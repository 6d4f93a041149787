// SPDX-License-Identifier: Apache-2.0
#include "lab/reviews.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

TEST(Reviews, TellThatEverythingIsAllowedAndStoreNothing) {
  TestCluster c;
  const Revision before = c.api->revision();
  const Json asked = J(
      R"({"kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"create","resource":"pods"}}})");
  const Reply may = c.client->Post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked);
  EXPECT_EQ(may.status, 201);
  EXPECT_TRUE(BoolAt(may.json(), {"status", "allowed"}));
  EXPECT_EQ(may.json()["spec"], asked["spec"]);
  const Reply rules = c.client->Post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                                     J(R"({"spec":{"namespace":"default"}})"));
  EXPECT_EQ(rules.json()["status"]["resourceRules"].size(), 1u);
  const Reply who =
      c.client->Post("/apis/authentication.k8s.io/v1/selfsubjectreviews", Json::object());
  EXPECT_EQ(TextAt(who.json(), {"status", "userInfo", "username"}), "lab");
  EXPECT_EQ(c.client->Get("/apis/authentication.k8s.io/v1/selfsubjectreviews").status, 405);
  EXPECT_EQ(c.api->revision(), before);
}

}  // namespace
}  // namespace sky::lab
