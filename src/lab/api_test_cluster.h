// SPDX-License-Identifier: Apache-2.0
// For the tests of this room: an API server with our CRDs under a virtual clock, a client, and
// watches that keep what they were told.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lab/api_server.h"
#include "lab/crds.h"
#include "lab/in_process.h"

namespace sky::lab {

inline const std::string kPods = "/api/v1/namespaces/default/pods";
inline const std::string kNodes = "/api/v1/nodes";
inline const std::string kQuotas = "/apis/scheduling.infini-ai.com/v1alpha1/quotas";
inline const std::string kGroups =
    "/apis/scheduling.infini-ai.com/v1alpha1/namespaces/default/podgroups";
inline const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

inline Json J(std::string_view text) {
  auto json = ParseJson(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json.value_or(Json());
}

class TestCluster {
 public:
  explicit TestCluster(ApiServerOptions options = {}) {
    api = std::make_unique<ApiServer>(options, clock, EmbeddedKinds());
    client = std::make_unique<InProcess>(*api, "tester/1.0");
  }

  Json Pod(std::string_view name, std::string_view spec_members = "") {
    Json pod = J(R"({"apiVersion":"v1","kind":"Pod","metadata":{},
                     "spec":{"containers":[{"name":"main","image":"work"}]}})");
    pod["metadata"]["name"] = name;
    if (!spec_members.empty()) pod["spec"].update(J(spec_members));
    return pod;
  }
  Json Node(std::string_view name) {
    Json node = J(R"({"apiVersion":"v1","kind":"Node","metadata":{},"status":{
        "allocatable":{"nvidia.com/gpu":"8","pods":"110"},
        "conditions":[{"type":"Ready","status":"True"}]}})");
    node["metadata"]["name"] = name;
    return node;
  }
  Json Quota(std::string_view name) {
    Json quota =
        J(R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"Quota","metadata":{},
                       "spec":{"queueName":"default","request":{"nvidia.com/gpu":"1"}}})");
    quota["metadata"]["name"] = name;
    return quota;
  }
  Json Group(std::string_view name, int min_member = 1) {
    Json group = J(R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"PodGroup",
                       "metadata":{},"spec":{}})");
    group["metadata"]["name"] = name;
    group["spec"]["minMember"] = min_member;
    return group;
  }
  // Creates, and expects that to work.
  Json Make(const std::string& collection, const Json& object) {
    const Reply reply = client->Post(collection, object);
    EXPECT_EQ(reply.status, 201) << reply.body;
    return reply.json();
  }
  Json Get(const std::string& path) {
    const Reply reply = client->Get(path);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json();
  }
  Reply Bind(const std::string& pod, const std::string& node, Json metadata = Json::object()) {
    metadata["name"] = pod;
    return client->Post(kPods + "/" + pod + "/binding",
                        {{"apiVersion", "v1"},
                         {"kind", "Binding"},
                         {"metadata", metadata},
                         {"target", {{"kind", "Node"}, {"name", node}}}});
  }

  ManualClock clock;
  std::unique_ptr<ApiServer> api;
  std::unique_ptr<InProcess> client;
};

// Keeps the events of one watch; ended() after the server's end.
class Watcher {
 public:
  Watcher(TestCluster& cluster, const std::string& target, std::string_view accept = "")
      : cluster_(cluster) {
    const auto id =
        cluster.api->StartWatch(cluster.client->MakeRequest("GET", target, "", "", accept),
                                [this](const WatchEvent* event) {
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
  ~Watcher() { cluster_.api->Unwatch(id_); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // "ADDED a", "MODIFIED b", "BOOKMARK", "ERROR 410", since the last call.
  std::vector<std::string> Take() {
    std::vector<std::string> out;
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
  std::vector<WatchEvent>& events() { return events_; }
  bool ended() const { return ended_; }
  const Failure& failure() const { return failure_; }

 private:
  TestCluster& cluster_;
  ApiServer::WatchId id_ = 0;
  std::vector<WatchEvent> events_;
  bool ended_ = false;
  Failure failure_;
};

using Texts = std::vector<std::string>;

}  // namespace sky::lab
