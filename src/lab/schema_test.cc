// SPDX-License-Identifier: Apache-2.0
#include "lab/schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

// The causes of checking `value` as spec.x under `schema`.
Texts Check(std::string_view schema, std::string_view value) {
  const Json whole = {
      {"type", "object"},
      {"properties", {{"spec", {{"type", "object"}, {"properties", {{"x", J(schema)}}}}}}}};
  const auto made = Schema::Make(whole);
  EXPECT_TRUE(made.has_value());
  Texts out;
  for (const Cause& cause : (*made)->Check({{"spec", {{"x", J(value)}}}}))
    out.push_back(cause.field + " " + cause.reason);
  return out;
}

const std::string kInvalid = "spec.x FieldValueInvalid";

TEST(Schema, ChecksTypes) {
  EXPECT_EQ(Check(R"({"type":"integer"})", "\"a\""), Texts{"spec.x FieldValueTypeInvalid"});
  EXPECT_EQ(Check(R"({"type":"integer"})", "1.5"), Texts{"spec.x FieldValueTypeInvalid"});
  EXPECT_EQ(Check(R"({"type":"string"})", "null"), Texts{"spec.x FieldValueTypeInvalid"});
  EXPECT_EQ(Check(R"({"type":"string","nullable":true})", "null"), Texts{});
  EXPECT_EQ(Check(R"({"x-kubernetes-int-or-string":true})", "true"),
            Texts{"spec.x FieldValueTypeInvalid"});
  for (const char* fine : {"1", "\"50%\""})
    EXPECT_EQ(Check(R"({"x-kubernetes-int-or-string":true})", fine), Texts{});
  EXPECT_EQ(Check(R"({"type":"integer","format":"int32"})", "3000000000"),
            Texts{"<nil> FieldValueInvalid"});  // as the real server words it
}

TEST(Schema, ChecksBounds) {
  EXPECT_EQ(Check(R"({"type":"integer","minimum":1})", "0"), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"type":"integer","minimum":1})", "1"), Texts{});
  EXPECT_EQ(Check(R"({"type":"integer","minimum":1,"exclusiveMinimum":true})", "1"),
            Texts{kInvalid});
  EXPECT_EQ(Check(R"({"type":"integer","maximum":5})", "6"), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"type":"string","minLength":1})", "\"\""), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"type":"string","maxLength":2})", "\"äö\""), Texts{});
  EXPECT_EQ(Check(R"({"type":"string","maxLength":2})", "\"abc\""),
            Texts{"spec.x FieldValueTooLong"});
  EXPECT_EQ(Check(R"({"type":"string","pattern":"^a+$"})", "\"aab\""), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"type":"string","enum":["a","b"]})", "\"c\""),
            Texts{"spec.x FieldValueNotSupported"});
  EXPECT_EQ(Check(R"({"type":"string","format":"date-time"})", "\"today\""), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"type":"object","maxProperties":1,"additionalProperties":{"type":"string"}})",
                  R"({"a":"1","b":"2"})"),
            Texts{"spec.x FieldValueTooMany"});
}

TEST(Schema, DoesNotRecurseOnLongTexts) {
  EXPECT_EQ(
      Check(R"({"type":"string","pattern":"^(a|b)*$"})", "\"" + std::string(200'000, 'a') + "\""),
      Texts{kInvalid});
}

TEST(Schema, ChecksListsAndMaps) {
  EXPECT_EQ(Check(R"({"type":"array","maxItems":1})", "[1,2]"), Texts{"spec.x FieldValueTooMany"});
  EXPECT_EQ(Check(R"({"type":"array","minItems":1})", "[]"), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"type":"array","items":{"type":"string"}})", "[\"a\",1]"),
            Texts{"spec.x[1] FieldValueTypeInvalid"});
  EXPECT_EQ(Check(R"({"type":"array","x-kubernetes-list-type":"set"})", "[1,2,1]"),
            Texts{"spec.x[2] FieldValueDuplicate"});
  EXPECT_EQ(
      Check(R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"]})",
            R"([{"n":1},{"n":1,"v":2}])"),
      Texts{"spec.x[1] FieldValueDuplicate"});
  EXPECT_EQ(Check(R"({"type":"object","required":["a","b"]})", R"({"a":1})"),
            Texts{"spec.x.b FieldValueRequired"});
  EXPECT_EQ(
      Check(R"({"type":"object","additionalProperties":{"type":"integer"}})", R"({"k/x":"a"})"),
      Texts{"spec.x.k/x FieldValueTypeInvalid"});
}

TEST(Schema, ChecksCombinations) {
  EXPECT_EQ(Check(R"({"anyOf":[{"type":"integer"},{"type":"string"}]})", "true"), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"oneOf":[{"minimum":1},{"maximum":5}]})", "3"), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"not":{"enum":[3]}})", "3"), Texts{kInvalid});
  EXPECT_EQ(Check(R"({"allOf":[{"minimum":1},{"maximum":5}]})", "7"), Texts{kInvalid});
}

TEST(Schema, PrunesAndNamesWhatItDoesNotKnow) {
  const auto schema =
      Schema::Make(J(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
      "a":{"type":"string"},"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
      "list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"string"}}}},
      "map":{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"string"}}}}}}}})"));
  Json document =
      J(R"({"apiVersion":"v","kind":"k","metadata":{"x":1},"other":1,"spec":{"a":"1","b":2,
      "free":{"z":1},"list":[{"n":"1","m":2}],"map":{"k":{"n":"1","m":2}}}})");
  EXPECT_EQ((*schema)->Prune(document),
            (Texts{"other", "spec.b", "spec.list[0].m", "spec.map.k.m"}));
  EXPECT_EQ(document["spec"],
            J(R"({"a":"1","free":{"z":1},"list":[{"n":"1"}],"map":{"k":{"n":"1"}}})"));
  EXPECT_TRUE(document["metadata"].contains("x"));
}

TEST(Schema, FillsDefaultsInFromTheOutside) {
  const auto schema = Schema::Make(J(R"({"type":"object","properties":{
      "status":{"type":"object","default":{"phase":"Empty"},"properties":{
          "phase":{"type":"string"},"n":{"type":"integer","default":3}}},
      "list":{"type":"array","items":{"type":"object","properties":{"m":{"type":"integer","default":1}}}},
      "nul":{"type":"string","default":"d"}}})"));
  Json document = J(R"({"list":[{},{"m":2}],"nul":null})");
  (*schema)->FillDefaults(document);
  EXPECT_EQ(document,
            J(R"({"list":[{"m":1},{"m":2}],"nul":"d","status":{"phase":"Empty","n":3}})"));
}

TEST(FieldValidation, IsStrictWarnsOrIgnores) {
  TestCluster c;
  Json group = TestCluster::Group("g");
  group["spec"]["minMembr"] = 3;
  group["metadata"]["labls"] = 1;
  const Reply strict = c.client->Post(kGroups + "?fieldValidation=Strict", group);
  EXPECT_EQ(strict.status, 400);
  EXPECT_NE(strict.message().find("unknown field \"spec.minMembr\""), std::string::npos);
  EXPECT_NE(strict.message().find("unknown field \"metadata.labls\""), std::string::npos);
  const server::Response warned = c.api->Handle(
      c.client->MakeRequest("POST", kGroups + "?dryRun=All", Dump(group), "application/json"));
  EXPECT_EQ(warned.status, 201);
  ASSERT_EQ(warned.headers.size(), 2u);
  EXPECT_EQ(warned.headers[0].name, "warning");
  const server::Response ignored = c.api->Handle(c.client->MakeRequest(
      "POST", kGroups + "?fieldValidation=Ignore", Dump(group), "application/json"));
  EXPECT_EQ(ignored.status, 201);
  EXPECT_TRUE(ignored.headers.empty());
  EXPECT_FALSE(J(ignored.body)["spec"].contains("minMembr"));
  c.Make(kGroups, TestCluster::Group("there"));
  const Reply patched =
      c.client->Patch(InProcess::PatchType::kMerge, kGroups + "/there?fieldValidation=Strict",
                      J(R"({"spec":{"minMembr":3}})"));
  EXPECT_EQ(patched.status, 422) << "a patch isn't the undecodable thing itself";
  EXPECT_EQ(TextAt(patched.json()["details"]["causes"][0], {"field"}), "patch");
  EXPECT_EQ(c.client
                ->Do("POST", kGroups + "?fieldValidation=Strict",
                     R"({"metadata":{"name":"h"},"spec":{"minMember":1,"minMember":2}})",
                     "application/json")
                .status,
            400);
}

TEST(OwnKinds, AreRefusedWithACauseForEachField) {
  TestCluster c;
  const Reply reply = c.client->Post(kGroups, TestCluster::Group("g", 0));
  EXPECT_EQ(reply.status, 422);
  const Json status = reply.json();
  EXPECT_EQ(TextAt(status, {"reason"}), "Invalid");
  EXPECT_EQ(TextAt(status, {"details", "kind"}), "PodGroup");
  ASSERT_EQ(status["details"]["causes"].size(), 1u);
  EXPECT_EQ(TextAt(status["details"]["causes"][0], {"field"}), "spec.minMember");
  Json quota = TestCluster::Quota("q");
  quota["spec"]["request"]["cpu"] = "-1";
  EXPECT_EQ(c.client->Post(kQuotas, quota).status, 422);
}

TEST(OwnKinds, AreCheckedByTheTwinOfTheirCelRules) {
  TestCluster c;
  Json quota = TestCluster::Quota("q");
  quota["spec"]["sharedQueues"] = {"default"};  // its own queue
  const Reply reply = c.client->Post(kQuotas, quota);
  EXPECT_EQ(reply.status, 422);
  EXPECT_NE(reply.message().find("must not list the quota's own queue"), std::string::npos)
      << reply.body;
}

}  // namespace
}  // namespace sky::lab
