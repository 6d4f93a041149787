// SPDX-License-Identifier: Apache-2.0
#include "lab/test_cluster.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sky::lab {

Json J(std::string_view text) {
  auto json = ParseJson(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json.value_or(Json());
}

TestCluster::TestCluster(ApiServerOptions options)
    : api(std::make_unique<ApiServer>(options, clock, EmbeddedKinds())),
      client(std::make_unique<InProcess>(*api, "tester/1.0")) {}

Json TestCluster::Pod(std::string_view name, std::string_view spec_members) {
  Json pod = J(R"({"apiVersion":"v1","kind":"Pod","metadata":{},
                   "spec":{"containers":[{"name":"main","image":"work"}]}})");
  pod["metadata"]["name"] = name;
  pod["spec"].update(J(spec_members));
  return pod;
}

Json TestCluster::Node(std::string_view name) {
  Json node = J(R"({"apiVersion":"v1","kind":"Node","metadata":{},"status":{
      "allocatable":{"nvidia.com/gpu":"8","pods":"110"},
      "conditions":[{"type":"Ready","status":"True"}]}})");
  node["metadata"]["name"] = name;
  return node;
}

Json TestCluster::Quota(std::string_view name) {
  Json quota = J(R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"Quota","metadata":{},
                     "spec":{"queueName":"default","request":{"nvidia.com/gpu":"1"}}})");
  quota["metadata"]["name"] = name;
  return quota;
}

Json TestCluster::Group(std::string_view name, int min_member) {
  Json group = J(R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"PodGroup",
                     "metadata":{},"spec":{}})");
  group["metadata"]["name"] = name;
  group["spec"]["minMember"] = min_member;
  return group;
}

Json TestCluster::Make(const std::string& collection, const Json& object) {
  const Reply reply = client->Post(collection, object);
  EXPECT_EQ(reply.status, 201) << reply.body;
  return reply.json();
}

Json TestCluster::Get(const std::string& path) {
  const Reply reply = client->Get(path);
  EXPECT_EQ(reply.status, 200) << reply.body;
  return reply.json();
}

Reply TestCluster::Bind(const std::string& pod, const std::string& node,
                        std::string_view metadata) {
  Json binding = {{"apiVersion", "v1"},
                  {"kind", "Binding"},
                  {"metadata", J(metadata)},
                  {"target", {{"kind", "Node"}, {"name", node}}}};
  binding["metadata"]["name"] = pod;
  return client->Post(kPods + "/" + pod + "/binding", binding);
}

Watcher::Watcher(TestCluster& cluster, const std::string& target, std::string_view accept)
    : cluster_(cluster) {
  const auto id = cluster.api->StartWatch(
      cluster.client->MakeRequest("GET", target, "", "", accept), [this](const WatchEvent* event) {
        if (event == nullptr)
          ended_ = true;
        else
          events_.push_back(*event);
        return true;
      });
  if (id)
    id_ = *id;
  else
    failure_ = id.error();
}

Watcher::~Watcher() { cluster_.api->Unwatch(id_); }

Texts Watcher::Take() {
  Texts out;
  for (const WatchEvent& event : events_) {
    const Json object = J(event.object);
    std::string text = event.type;
    if (event.type == "ERROR")
      text += " " + std::to_string(IntAt(object, {"code"}).value_or(0));
    else if (event.type != "BOOKMARK")
      text += " " + TextAt(object, {"metadata", "name"});
    out.push_back(std::move(text));
  }
  events_.clear();
  return out;
}

}  // namespace sky::lab
