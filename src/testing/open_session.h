// SPDX-License-Identifier: Apache-2.0
// A session over a fixture's cluster with chosen plugins alone, for tests that ask a plugin itself:
//   OpenSession open(c, std::make_unique<plugins::Gang>());
//   EXPECT_TRUE(open->JobReady(open.Job("default/train")));
// Its commits are accepted and forgotten. Lives inside one test, on its thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "framework/plugin.h"
#include "framework/session.h"
#include "testing/cluster.h"

namespace sky::testing {

class OpenSession {
 public:
  template <class... Plugins>
  explicit OpenSession(Cluster& cluster, std::unique_ptr<Plugins>... plugins) : cluster_(cluster) {
    cluster.cache().UpdateSnapshot(cluster.snapshot());
    session_ = std::make_unique<framework::Session>(
        cluster.snapshot(), cluster.engine().config(), Instant{}, 1,
        [](cache::Round&) -> std::expected<uint64_t, cache::Refusal> { return 1; }, kept_);
    (plugins_.push_back(std::move(plugins)), ...);
    for (const auto& plugin : plugins_) plugin->OnSessionOpen(*session_);
    session_->CompileExpressions();
  }

  framework::Session& operator*() { return *session_; }
  framework::Session* operator->() { return session_.get(); }
  const model::Cluster& rows() const { return session_->cluster(); }

  // By the names that people use; a name that isn't there ends the test.
  model::JobId Job(const std::string& key) const { return Found(rows().jobs().Find(key), key); }
  model::NodeId Node(const std::string& name) const {
    return Found(rows().nodes().Find(name), name);
  }
  model::QuotaId Quota(const std::string& name) const {
    return Found(rows().quotas().Find(name), name);
  }
  model::QueueId Queue(const std::string& name) const {
    return Found(rows().queues().Find(name), name);
  }
  model::TaskId Task(const std::string& pod) const {  // "ns/name", or the name in "default"
    const std::string key = pod.find('/') == std::string::npos ? "default/" + pod : pod;
    return Found(rows().tasks().Find(cluster_.Get<api::Pod>(key).metadata.uid), key);
  }
  model::ResourceId Resource(const std::string& name) const {
    return rows().names().resources.Intern(name);
  }

 private:
  template <class Id>
  static Id Found(Id id, const std::string& name) {
    SKY_CHECK(id.valid(), "there is no {}", name);
    return id;
  }

  Cluster& cluster_;
  framework::Session::Kept kept_;
  std::vector<std::unique_ptr<framework::Plugin>> plugins_;
  std::unique_ptr<framework::Session> session_;
};

}  // namespace sky::testing
