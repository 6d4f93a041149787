// SPDX-License-Identifier: Apache-2.0
// What a node says against what a pod or quota asks, sentence by sentence as kube-scheduler reads
// them. Each row is a node and a pod as YAML users write them (here as JSON), placed by a whole
// cycle: so the registration, the kept answers and the reason that people see are tested too.
#include "plugins/predicates/predicates.h"

#include <gtest/gtest.h>

#include "api/json.h"
#include "testing/matchers.h"

namespace sky::plugins {
namespace {

using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;

struct Row {
  std::string what;
  std::string node;  // members of the node's spec and labels
  std::string pod;   // members of the pod's spec
  std::string says;  // "" when the pod fits
};

template <class T>
T Read(const std::string& json) {
  auto object = api::Decode<T>(json);
  EXPECT_TRUE(object.has_value()) << json << ": " << object.error().message();
  return object ? std::move(*object) : T{};
}

// The node n0 with `labels` and `spec`, Ready, with room.
api::Node NodeOf(const std::string& labels, const std::string& spec) {
  api::Node node = testing::MakeNode("n0", *testing::ReadWords("gpu=8"));
  const auto said =
      Read<api::Node>(R"({"metadata":{"labels":{)" + labels + R"(}},"spec":{)" + spec + "}}");
  for (const auto& [key, value] : said.metadata.labels)
    node.metadata.labels.insert_or_assign(key, value);
  node.spec = said.spec;
  return node;
}

api::Pod PodOf(const std::string& spec) {
  api::Pod pod = testing::MakeWorker("", "p", *testing::ReadWords("gpu=1"));
  const auto said = Read<api::Pod>(R"({"spec":{)" + spec + "}}");
  pod.spec.tolerations = said.spec.tolerations;
  pod.spec.node_selector = said.spec.node_selector;
  pod.spec.affinity = said.spec.affinity;
  return pod;
}

// A quota that could go anywhere, so that the pod's own demands are tested alone.
api::Quota QuotaOf(const std::string& spec = R"("tolerations":[{"operator":"Exists"}])") {
  api::Quota quota = testing::MakeQuota("q0", *testing::ReadWords("gpu=1"));
  const auto said = Read<api::Quota>(R"({"spec":{)" + spec + "}}");
  quota.spec.tolerations = said.spec.tolerations;
  quota.spec.affinity = said.spec.affinity;
  return quota;
}

// What a cycle makes of them: "" when the pod was bound, else the job's reason.
std::string Outcome(api::Node node, api::Pod pod, api::Quota quota) {
  Cluster c;
  c.Put(std::move(node));
  c.Put(std::move(quota));
  c.Put(std::move(pod));
  return c.Cycle().empty() ? c.Why("pod:default/p") : "";
}

std::string Taint(const std::string& key, const std::string& effect,
                  const std::string& value = "") {
  return fmt::format(R"("taints":[{{"key":"{}","value":"{}","effect":"{}"}}])", key, value, effect);
}
std::string Tolerate(const std::string& members) { return R"("tolerations":[{)" + members + "}]"; }

TEST(Predicates, TaintsAndTolerations) {
  const std::string untolerated = "TaintNotTolerated";
  const std::vector<Row> rows = {
      {"no taint", "", "", ""},
      {"NoSchedule holds off", Taint("a", "NoSchedule"), "", untolerated},
      {"NoExecute holds off as well", Taint("a", "NoExecute"), "", untolerated},
      {"PreferNoSchedule only makes a node less liked", Taint("a", "PreferNoSchedule"), "", ""},
      {"Exists with the key", Taint("a", "NoSchedule", "v"),
       Tolerate(R"("key":"a","operator":"Exists")"), ""},
      {"Exists with another key", Taint("a", "NoSchedule"),
       Tolerate(R"("key":"b","operator":"Exists")"), untolerated},
      {"Exists with an empty key is every key", Taint("a", "NoSchedule", "v"),
       Tolerate(R"("operator":"Exists")"), ""},
      {"Exists with an empty key, of one effect", Taint("a", "NoExecute"),
       Tolerate(R"("operator":"Exists","effect":"NoSchedule")"), untolerated},
      {"an empty effect is every effect", Taint("a", "NoExecute"),
       Tolerate(R"("key":"a","operator":"Exists")"), ""},
      {"another effect", Taint("a", "NoExecute"),
       Tolerate(R"("key":"a","operator":"Exists","effect":"NoSchedule")"), untolerated},
      {"Equal with the value", Taint("a", "NoSchedule", "v"),
       Tolerate(R"("key":"a","operator":"Equal","value":"v")"), ""},
      {"an empty operator is Equal", Taint("a", "NoSchedule", "v"),
       Tolerate(R"("key":"a","value":"v")"), ""},
      {"Equal with another value", Taint("a", "NoSchedule", "v"),
       Tolerate(R"("key":"a","value":"w")"), untolerated},
      {"Equal without a value and a taint without one", Taint("a", "NoSchedule"),
       Tolerate(R"("key":"a")"), ""},
      {"Equal with an empty key is nobody's", Taint("a", "NoSchedule"), Tolerate(R"("value":"")"),
       untolerated},
      {"how long an eviction waits is no matter", Taint("a", "NoExecute"),
       Tolerate(R"("key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":0)"), ""},
      {"Lt is a gate that 1.36 has off", Taint("a", "NoSchedule", "1"),
       Tolerate(R"("key":"a","operator":"Lt","value":"9")"), untolerated},
      {"one of two taints is left",
       R"("taints":[{"key":"a","effect":"NoSchedule"},{"key":"b","effect":"NoExecute"}])",
       Tolerate(R"("key":"a","operator":"Exists")"), untolerated},
      {"each taint by a toleration of its own",
       R"("taints":[{"key":"a","effect":"NoSchedule"},{"key":"b","effect":"NoExecute"}])",
       R"("tolerations":[{"key":"b","operator":"Exists"},{"key":"a","operator":"Exists"}])", ""},
  };
  for (const Row& row : rows)
    EXPECT_EQ(Outcome(NodeOf("", row.node), PodOf(row.pod), QuotaOf()), row.says) << row.what;
}

// The node controller says readiness and pressure as taints.
TEST(Predicates, WellKnownTaintsOfTheNodeController) {
  for (const char* key : {"not-ready", "unreachable", "memory-pressure", "disk-pressure",
                          "pid-pressure", "network-unavailable", "out-of-service"})
    for (const char* effect : {"NoSchedule", "NoExecute"}) {
      const std::string full = std::string("node.kubernetes.io/") + key;
      const std::string tolerate =
          Tolerate(fmt::format(R"("key":"{}","operator":"Exists","effect":"{}")", full, effect));
      EXPECT_EQ(Outcome(NodeOf("", Taint(full, effect)), PodOf(""), QuotaOf()), "TaintNotTolerated")
          << full;
      EXPECT_EQ(Outcome(NodeOf("", Taint(full, effect)), PodOf(tolerate), QuotaOf()), "") << full;
    }
  // What every pod gets by the API server's defaults: it may stay a while, and may not come.
  const std::string stay =
      R"("tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",
         "tolerationSeconds":300}])";
  EXPECT_EQ(Outcome(NodeOf("", Taint("node.kubernetes.io/not-ready", "NoSchedule")), PodOf(stay),
                    QuotaOf()),
            "TaintNotTolerated");
}

TEST(Predicates, CordonIsAFlagThatATolerationOfItsTaintLifts) {
  const std::string key = "node.kubernetes.io/unschedulable", cordon = R"("unschedulable":true)",
                    both = cordon + "," + Taint(key, "NoSchedule"), held = "NodeUnschedulable";
  const std::vector<Row> rows = {
      {"cordoned", cordon, "", held},
      {"with the taint that the node controller adds", both, "", held},
      {"only the taint", Taint(key, "NoSchedule"), "", held},
      {"tolerated by key and effect", cordon,
       Tolerate(
           R"("key":"node.kubernetes.io/unschedulable","operator":"Exists","effect":"NoSchedule")"),
       ""},
      {"tolerated, with the taint", both,
       Tolerate(R"("key":"node.kubernetes.io/unschedulable","operator":"Exists")"), ""},
      {"tolerated as an empty value", cordon,
       Tolerate(R"("key":"node.kubernetes.io/unschedulable","effect":"NoSchedule")"), ""},
      {"tolerated by who tolerates everything", both, Tolerate(R"("operator":"Exists")"), ""},
      {"a value that the cordon hasn't", cordon,
       Tolerate(R"("key":"node.kubernetes.io/unschedulable","value":"yes")"), held},
      {"of another effect", cordon,
       Tolerate(
           R"("key":"node.kubernetes.io/unschedulable","operator":"Exists","effect":"NoExecute")"),
       held},
      {"of another key", cordon, Tolerate(R"("key":"a","operator":"Exists")"), held},
  };
  for (const Row& row : rows)
    EXPECT_EQ(Outcome(NodeOf("", row.node), PodOf(row.pod), QuotaOf()), row.says) << row.what;
}

// Nobody starts on a node that can't start anything, whatever he tolerates.
TEST(Predicates, ANodeMustBeReadyAndMustStay) {
  const api::Pod pod = PodOf(Tolerate(R"("operator":"Exists")"));
  for (const char* status : {"False", "Unknown"}) {
    api::Node node = NodeOf("", "");
    node.status.conditions[0].status = status;
    EXPECT_EQ(Outcome(node, pod, QuotaOf()), "NodeNotReady") << status;
  }
  api::Node silent = NodeOf("", "");
  silent.status.conditions.clear();
  EXPECT_EQ(Outcome(silent, pod, QuotaOf()), "NodeNotReady") << "no word of its kubelet yet";
  api::Node leaving = NodeOf("", "");
  leaving.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  EXPECT_EQ(Outcome(leaving, pod, QuotaOf()), "NodeNotReady");
}

TEST(Predicates, TheNodeSelectorIsAnExactAnd) {
  const std::string labels = R"("disk":"ssd","size":"9","empty":"")", no = "NodeSelectorMismatch";
  const std::vector<Row> rows = {
      {"nothing asked", labels, "", ""},
      {"the label", labels, R"("nodeSelector":{"disk":"ssd"})", ""},
      {"all of them", labels, R"("nodeSelector":{"disk":"ssd","size":"9"})", ""},
      {"another value", labels, R"("nodeSelector":{"disk":"hdd"})", no},
      {"one of two", labels, R"("nodeSelector":{"disk":"ssd","size":"8"})", no},
      {"a label that isn't there", labels, R"("nodeSelector":{"zone":"a"})", no},
      {"an empty value is a value", labels, R"("nodeSelector":{"empty":""})", ""},
      {"an absent label isn't an empty one", labels, R"("nodeSelector":{"zone":""})", no},
  };
  for (const Row& row : rows)
    EXPECT_EQ(Outcome(NodeOf(row.node, ""), PodOf(row.pod), QuotaOf()), row.says) << row.what;
}

std::string Required(const std::string& terms) {
  return R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
         R"({"nodeSelectorTerms":[)" +
         terms + "]}}}";
}
std::string Expression(const std::string& key, const std::string& op, const std::string& values) {
  return fmt::format(R"({{"key":"{}","operator":"{}","values":[{}]}})", key, op, values);
}
std::string NodeTerm(const std::string& expressions, const std::string& fields = "") {
  return fmt::format(R"({{"matchExpressions":[{}],"matchFields":[{}]}})", expressions, fields);
}

TEST(Predicates, RequiredNodeAffinity) {
  const std::string labels = R"("disk":"ssd","gpus":"8","huge":"9223372036854775808")",
                    no = "NodeAffinityMismatch";
  const auto one = [](const std::string& key, const std::string& op, const std::string& values) {
    return Required(NodeTerm(Expression(key, op, values)));
  };
  const auto field = [](const std::string& key, const std::string& op, const std::string& values) {
    return Required(NodeTerm("", Expression(key, op, values)));
  };
  const std::string ssd = Expression("disk", "In", R"("ssd")"),
                    hdd = Expression("disk", "In", R"("hdd")");
  const std::vector<Row> rows = {
      {"In", "", one("disk", "In", R"("hdd","ssd")"), ""},
      {"not In", "", one("disk", "In", R"("hdd")"), no},
      {"In of an absent label", "", one("zone", "In", R"("a")"), no},
      {"NotIn", "", one("disk", "NotIn", R"("hdd")"), ""},
      {"not NotIn", "", one("disk", "NotIn", R"("hdd","ssd")"), no},
      {"NotIn of an absent label holds", "", one("zone", "NotIn", R"("a")"), ""},
      {"Exists", "", one("disk", "Exists", ""), ""},
      {"not Exists", "", one("zone", "Exists", ""), no},
      {"DoesNotExist", "", one("zone", "DoesNotExist", ""), ""},
      {"not DoesNotExist", "", one("disk", "DoesNotExist", ""), no},
      {"Gt is strict", "", one("gpus", "Gt", R"("8")"), no},
      {"Gt", "", one("gpus", "Gt", R"("7")"), ""},
      {"Lt is strict", "", one("gpus", "Lt", R"("8")"), no},
      {"Lt", "", one("gpus", "Lt", R"("9")"), ""},
      {"Gt of a word", "", one("disk", "Gt", R"("1")"), no},
      {"Lt of a word", "", one("disk", "Lt", R"("1")"), no},
      {"Gt of an absent label", "", one("zone", "Gt", R"("0")"), no},
      {"a number beyond int64 compares with nothing", "", one("huge", "Gt", R"("1")"), no},
      {"terms are alternatives", "", Required(NodeTerm(hdd) + "," + NodeTerm(ssd)), ""},
      {"none of the terms", "", Required(NodeTerm(hdd) + "," + NodeTerm(hdd)), no},
      {"expressions of a term hold together", "",
       Required(NodeTerm(ssd + "," + Expression("gpus", "In", R"("4")"))), no},
      {"an empty term matches nothing", "", Required("{}"), no},
      {"an empty term spoils no other", "", Required("{}," + NodeTerm(ssd)), ""},
      {"no terms match nothing", "", Required(""), no},
      {"a term that doesn't parse is skipped", "",
       Required(NodeTerm(Expression("disk", "Near", R"("ssd")")) + "," + NodeTerm(ssd)), ""},
      {"the node by its name", "", field("metadata.name", "In", R"("n0")"), ""},
      {"another node by its name", "", field("metadata.name", "In", R"("n1")"), no},
      {"any but the node", "", field("metadata.name", "NotIn", R"("n0")"), no},
      {"any but another", "", field("metadata.name", "NotIn", R"("n1")"), ""},
      {"two names in one field match nothing", "", field("metadata.name", "In", R"("n0","n1")"),
       no},
      {"only the name is a field", "", field("metadata.uid", "NotIn", R"("x")"), no},
      {"fields and expressions hold together", "",
       Required(NodeTerm(hdd, Expression("metadata.name", "In", R"("n0")"))), no},
      {"the selector must hold besides", "",
       R"("nodeSelector":{"disk":"hdd"},)" + one("disk", "In", R"("ssd")"), "NodeSelectorMismatch"},
      {"and the affinity besides the selector", "",
       R"("nodeSelector":{"disk":"ssd"},)" + one("disk", "In", R"("hdd")"), no},
      {"a wish is no demand", "",
       R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":)"
       R"([{"weight":100,"preference":{"matchExpressions":[)" +
           hdd + "]}}]}}",
       ""},
  };
  for (const Row& row : rows)
    EXPECT_EQ(Outcome(NodeOf(labels, ""), PodOf(row.pod), QuotaOf()), row.says) << row.what;
}

// The share must be allowed there as well as the pod that uses it.
TEST(Predicates, AQuotaIsHeldToTaintsAndAffinityOfItsOwn) {
  const api::Pod pod = PodOf(Tolerate(R"("operator":"Exists")"));
  const auto outcome = [&](const std::string& node, const std::string& quota) {
    return Outcome(NodeOf(R"("disk":"ssd")", node), pod, QuotaOf(quota));
  };
  EXPECT_EQ(outcome(Taint("a", "NoSchedule"), ""), "TaintNotTolerated");
  EXPECT_EQ(outcome(Taint("a", "NoSchedule"), Tolerate(R"("key":"a","operator":"Exists")")), "");
  EXPECT_EQ(outcome(R"("unschedulable":true)", ""), "NodeUnschedulable");
  EXPECT_EQ(outcome(R"("unschedulable":true)", Tolerate(R"("operator":"Exists")")), "");
  const auto affine = [](const std::string& values) {
    return R"("affinity":{"node":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"({"nodeSelectorTerms":[)" +
           NodeTerm(Expression("disk", "In", values)) + "]}}}";
  };
  EXPECT_EQ(outcome("", affine(R"("ssd")")), "");
  EXPECT_EQ(outcome("", affine(R"("hdd")")), "NodeAffinityMismatch");
}

// Answers are kept by class and by what the node says: each change must be noticed, and a pod of
// another class asked anew.
TEST(Predicates, AnAnswerLastsAsLongAsWhatItWasMadeOf) {
  Cluster c;
  c.Put(NodeOf(R"("disk":"ssd")", ""));
  c.Quotas("q[0-9]", "gpu=1");
  api::Pod first = PodOf(R"("nodeSelector":{"disk":"ssd"})"), other = PodOf("");
  first.metadata.name = "first";
  c.Put(first);
  EXPECT_THAT(c.Cycle(), BindsTasks("first", "n0"));
  const auto next = [&](const char* name, const api::Pod& like) {
    api::Pod pod = like;
    pod.metadata.name = name;
    c.Put(pod);
    return c.Cycle();
  };
  c.Edit<api::Node>("n0", [](api::Node& node) { node.metadata.labels["disk"] = "hdd"; });
  EXPECT_THAT(next("second", first), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/second"), "NodeSelectorMismatch");
  EXPECT_THAT(next("third", other), BindsTasks("third", "n0"));
  c.Edit<api::Node>("n0", [](api::Node& node) { node.metadata.labels["disk"] = "ssd"; });
  EXPECT_THAT(c.Cycle(), BindsTasks("second", "n0"));
  c.Edit<api::Node>(
      "n0", [](api::Node& node) { node.spec.taints.push_back({"a", "", "NoSchedule", {}}); });
  EXPECT_THAT(next("fourth", first), BindsNothing());
  c.Edit<api::Node>("n0", [](api::Node& node) { node.spec.taints.clear(); });
  EXPECT_THAT(c.Cycle(), BindsTasks("fourth", "n0"));
}

// Between the decision and the binding the bind action asks once more (F2, F6).
TEST(Predicates, WhatANodeSaysAtTheLastMomentCounts) {
  Cluster c;
  c.Put(NodeOf("", ""));
  c.Put(QuotaOf());
  c.Put(PodOf(""));
  c.BeforeCommit([&] {
    c.Edit<api::Node>(
        "n0", [](api::Node& node) { node.spec.taints.push_back({"a", "", "NoSchedule", {}}); });
  });
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/p"), "TaintNotTolerated");
}

}  // namespace
}  // namespace sky::plugins
