// SPDX-License-Identifier: Apache-2.0
#include "lab/proto_body.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

// A field of the wire: a text, a message, or a number.
std::string Bytes(int number, const std::string& value) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(value.size()) +
         value;
}
std::string Number(int number, int value) {
  return std::string(1, static_cast<char>(number << 3)) + static_cast<char>(value);
}
std::string Envelope(const std::string& version, const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + Bytes(1, Bytes(1, version) + Bytes(2, kind)) + Bytes(2, raw);
}

TEST(Protobuf, ReadsWhatKubectlCreates) {
  const std::string meta =
      Bytes(1, "work") + Bytes(2, "") + Bytes(11, Bytes(1, "team") + Bytes(2, "vision"));
  EXPECT_EQ(ParseProtobuf(Envelope("v1", "Namespace", Bytes(1, meta))),
            J(R"({"apiVersion":"v1","kind":"Namespace",
                  "metadata":{"name":"work","labels":{"team":"vision"}}})"));
  const std::string options = Number(1, 5) + Bytes(2, Bytes(1, "u")) + Bytes(5, "All");
  EXPECT_EQ(
      ParseProtobuf(Envelope("policy/v1", "Eviction", Bytes(1, Bytes(1, "p")) + Bytes(2, options))),
      J(R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"},
                  "deleteOptions":{"gracePeriodSeconds":5,"preconditions":{"uid":"u"},"dryRun":["All"]}})"));
  const std::string spec =
      Bytes(1, Number(1, 1) + Bytes(3, "50%")) + Bytes(2, Bytes(1, Bytes(1, "a") + Bytes(2, "b")));
  EXPECT_EQ((*ParseProtobuf(Envelope("policy/v1", "PodDisruptionBudget", Bytes(2, spec))))["spec"],
            J(R"({"minAvailable":"50%","selector":{"matchLabels":{"a":"b"}}})"));
}

TEST(Protobuf, RefusesWhatItCannotRead) {
  const std::string good = Envelope("v1", "Namespace", Bytes(1, Bytes(1, "work")));
  for (size_t size = 0; size < good.size(); ++size)
    if (const auto read = ParseProtobuf(good.substr(0, size))) {
      EXPECT_EQ(Find(*read, {"metadata", "name"}), nullptr) << size;
    }
  EXPECT_FALSE(ParseProtobuf(Envelope("v1", "Pod", "")).has_value());
  EXPECT_FALSE(ParseProtobuf("{}").has_value());
  EXPECT_FALSE(ParseProtobuf(std::string("k8s\0\x0f", 5)).has_value());
  EXPECT_FALSE(ParseProtobuf(std::string("k8s\0", 4) + std::string(20, '\xff')).has_value());
}

TEST(Protobuf, GoesThroughTheServer) {
  TestCluster c;
  const std::string body = Envelope("v1", "Namespace", Bytes(1, Bytes(1, "work")));
  EXPECT_EQ(c.client->Do("POST", "/api/v1/namespaces", body, kProtobuf).status, 201);
  EXPECT_EQ(c.client->Do("POST", kPods, Envelope("v1", "Pod", ""), kProtobuf).status, 415);
  c.Make(kPods, TestCluster::Pod("p"));
  const std::string wrong = Envelope("v1", "DeleteOptions", Bytes(2, Bytes(1, "another")));
  EXPECT_EQ(c.client->Do("DELETE", kPods + "/p", wrong, kProtobuf).status, 409);
}

}  // namespace
}  // namespace sky::lab
