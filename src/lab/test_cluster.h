// SPDX-License-Identifier: Apache-2.0
// For the tests of this room: an API server with our CRDs under a virtual clock, a client, and
// watches that keep what they were told. Defined in test_cluster_test.cc, so that no program has
// it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
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

using Texts = std::vector<std::string>;

// Fails the test when the text isn't JSON.
Json J(std::string_view text);

class TestCluster {
 public:
  explicit TestCluster(ApiServerOptions options = {});

  // Valid objects, not created yet; `spec_members` is JSON that is put into the spec.
  static Json Pod(std::string_view name, std::string_view spec_members = "{}");
  static Json Node(std::string_view name);
  static Json Quota(std::string_view name);
  static Json Group(std::string_view name, int min_member = 1);

  // These expect that it works.
  Json Make(const std::string& collection, const Json& object);
  Json Get(const std::string& path);
  Reply Bind(const std::string& pod, const std::string& node, std::string_view metadata = "{}");

  ManualClock clock;
  std::unique_ptr<ApiServer> api;
  std::unique_ptr<InProcess> client;
};

// Keeps the events of one watch.
class Watcher {
 public:
  Watcher(TestCluster& cluster, const std::string& target, std::string_view accept = "");
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // "ADDED a", "MODIFIED b", "BOOKMARK", "ERROR 410": since the last call.
  Texts Take();
  std::vector<WatchEvent>& events() { return events_; }
  bool ended() const { return ended_; }  // by the server
  const Failure& failure() const { return failure_; }

 private:
  TestCluster& cluster_;
  ApiServer::WatchId id_ = 0;
  std::vector<WatchEvent> events_;
  bool ended_ = false;
  Failure failure_;
};

}  // namespace sky::lab
