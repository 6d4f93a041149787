// SPDX-License-Identifier: Apache-2.0
#include "api/meta.h"

#include <gtest/gtest.h>

#include "api/core.h"

namespace sky::api {
namespace {

TEST(ObjectMeta, TheControllerIsTheOwnerThatSaysSo) {
  ObjectMeta meta;
  EXPECT_EQ(meta.Controller(), nullptr);
  meta.owner_references.resize(2);
  meta.owner_references[1].name = "b";
  meta.owner_references[1].controller = true;
  ASSERT_NE(meta.Controller(), nullptr);
  EXPECT_EQ(meta.Controller()->name, "b");
}

TEST(ObjectMeta, AnAbsentLabelOrAnnotationIsEmpty) {
  ObjectMeta meta;
  meta.labels["a"] = "1";
  meta.annotations["b"] = "2";
  EXPECT_EQ(meta.Label("a"), "1");
  EXPECT_EQ(meta.Label("b"), "");
  EXPECT_EQ(meta.Annotation("b"), "2");
  EXPECT_EQ(meta.Annotation("a"), "");
}

TEST(ObjectMeta, TheKeyCarriesTheNamespaceOnlyWhereThereIsOne) {
  ObjectMeta meta;
  meta.name = "n";
  EXPECT_EQ(meta.Key(), "n");
  meta.namespace_ = "a";
  EXPECT_EQ(meta.Key(), "a/n");
}

TEST(Node, FindsAConditionByItsExactType) {
  Node node;
  node.status.conditions.resize(2);
  node.status.conditions[0].type = "ready";
  node.status.conditions[1].type = "Ready";
  EXPECT_EQ(node.FindCondition("Ready"), &node.status.conditions[1]);
  EXPECT_EQ(node.FindCondition("Disk"), nullptr);
}

}  // namespace
}  // namespace sky::api
