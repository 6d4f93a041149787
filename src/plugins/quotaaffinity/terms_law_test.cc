// SPDX-License-Identifier: Apache-2.0
// Whatever is placed, by gangs of several quotas in one round too: no required term about quotas
// is broken by it, neither its own nor another's. Judged by a reading of the objects that shares
// nothing with the plugin.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "api/json.h"
#include "api/keys.h"
#include "base/check.h"
#include "base/rng.h"
#include "testing/cluster.h"

namespace sky::plugins {
namespace {

using testing::Cluster;

struct DrawnTerm {
  std::string app;  // of whom it is about
  bool zone = false;
  std::string Json() const {
    return fmt::format(R"({{"labelSelector":{{"matchLabels":{{"app":"{}"}}}},"topologyKey":"{}"}})",
                       app, zone ? "zone" : "node");
  }
};
struct Terms {
  std::optional<DrawnTerm> near, away;
  std::string Json() const {
    const auto set = [](const char* name, const std::optional<DrawnTerm>& term) {
      return fmt::format(R"("{}":{{"required":[{}]}})", name, term ? term->Json() : "");
    };
    return fmt::format("{{{},{}}}", set("affinity", near), set("antiAffinity", away));
  }
};

// A quota, or a pod on one: who it is, where it is, and what it asks of quotas and of pods.
struct One {
  std::string name, app, node, quota;
  Terms quotas, pods;
  bool fresh = false;  // placed by the cycle that is judged
  bool placed() const { return !node.empty(); }
};

int ZoneOf(const std::string& node) { return node < "n2" ? 1 : 2; }
bool Together(const DrawnTerm& term, const std::string& a, const std::string& b) {
  return term.zone ? ZoneOf(a) == ZoneOf(b) : a == b;
}

class TermsLaw {
 public:
  explicit TermsLaw(uint64_t seed) : rng_(seed) {
    cluster_.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n[2-3]", "gpu=8 hca=8");
    for (int i = 0; i < 8; ++i) AddQuota(fmt::format("q{}", i));
  }

  void Step(int step) {
    const std::string name = fmt::format("j{}", step);
    if (step > 1 && rng_.Below(3) == 0) RemoveSome();
    const int members = 1 + static_cast<int>(rng_.Below(4));
    cluster_.Put(testing::MakeGroup(name, members, *testing::ReadWords("")));
    for (int i = 0; i < members; ++i) AddPod(name, fmt::format("{}-{}", name, i));
    cluster_.Tick(std::chrono::seconds(31));  // nobody sleeps
    Look(), cluster_.Cycle(), Look();
    placed_ += std::ranges::count_if(pods_, [](const auto& one) { return one.second.fresh; });
  }

  // The first broken term, or "".
  std::string Broken() const {
    for (const auto& [name, quota] : quotas_) {
      if (!quota.placed()) continue;
      for (const auto& [other_name, other] : quotas_)
        if (name != other_name && Clash(quota.quotas.away, quota, other))
          return fmt::format("quota {} away from quota {}", name, other_name);
      for (const auto& [pod_name, pod] : pods_) {
        if (Clash(quota.pods.away, quota, pod))
          return fmt::format("quota {} away from pod {}", name, pod_name);
        if (Clash(pod.quotas.away, pod, quota))
          return fmt::format("pod {} away from quota {}", pod_name, name);
      }
      if (quota.fresh && quota.quotas.near && !HasNeighbour(quota))
        return fmt::format("quota {} alone on {}", name, quota.node);
    }
    for (const auto& [name, pod] : pods_) {
      if (!pod.fresh) continue;
      if (pod.quotas.near && !AnyNear(*pod.quotas.near, pod, quotas_))
        return fmt::format("pod {} without its quota on {}", name, pod.node);
      const One& quota = quotas_.at(pod.quota);
      if (quota.pods.near && quota.pods.near->app != pod.app &&
          !AnyNear(*quota.pods.near, quota, pods_))
        return fmt::format("quota {} without its pod, by {}", quota.name, name);
    }
    return "";
  }
  int64_t placed() const { return placed_; }

 private:
  std::string App() { return rng_.Below(2) == 0 ? "a" : "b"; }
  Terms SomeTerms() {
    Terms terms;
    if (rng_.Below(5) == 0) terms.near = DrawnTerm{App(), rng_.Below(2) == 0};
    if (rng_.Below(5) == 0) terms.away = DrawnTerm{App(), rng_.Below(2) == 0};
    return terms;
  }

  void AddQuota(const std::string& name) {
    One one{name, App(), "", "", SomeTerms(), SomeTerms()};
    api::Quota quota =
        testing::MakeQuota(name, *testing::ReadWords(rng_.Below(3) == 0 ? "gpu=2" : "gpu=1"));
    quota.metadata.labels.emplace("app", one.app);
    const auto affinity = api::Decode<api::Quota>(
        fmt::format(R"({{"spec":{{"affinity":{{"quota":{},"podQuota":{}}}}}}})", one.quotas.Json(),
                    one.pods.Json()));
    SKY_CHECK(affinity.has_value(), "{}", affinity.error().message());
    quota.spec.affinity = affinity->spec.affinity;
    if (rng_.Below(6) == 0) one.node = quota.status.node_name = fmt::format("n{}", rng_.Below(4));
    quotas_.emplace(name, std::move(one));
    cluster_.Put(std::move(quota));
  }

  void AddPod(const std::string& group, const std::string& name) {
    One one{name, App(), "", "", SomeTerms(), {}};
    api::Pod pod = testing::MakeWorker(group, name, *testing::ReadWords("gpu=1"));
    pod.metadata.labels.emplace("app", one.app);
    pod.metadata.annotations.emplace(std::string(api::key::kPodQuotaAffinity), one.quotas.Json());
    pods_.emplace(name, std::move(one));
    cluster_.Put(std::move(pod));
  }

  void RemoveSome() {
    auto at = pods_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng_.Below(pods_.size())));
    cluster_.Remove<api::Pod>("default/" + at->first);
    pods_.erase(at);
  }

  // Where they are now, and who came there since the last look.
  void Look() {
    const model::Cluster now = cluster_.cache().Copy();
    const auto put = [](One& one, const std::string& node) {
      one.fresh = !node.empty() && node != one.node;
      one.node = node;
    };
    before_ = quotas_;
    for (auto& [name, one] : quotas_) {
      const model::NodeId node = now.quotas()[now.quotas().Find(name)].node;
      put(one, node.valid() ? now.nodes()[node].name : "");
    }
    for (auto& [name, one] : pods_) {
      const api::Pod& pod = cluster_.Get<api::Pod>("default/" + name);
      put(one, pod.spec.node_name);
      one.quota = pod.metadata.Annotation(api::key::kQuotaName);
    }
  }

  // One of them came now, and they are where they mustn't be.
  static bool Clash(const std::optional<DrawnTerm>& term, const One& holder, const One& other) {
    return term && holder.placed() && other.placed() && term->app == other.app &&
           (holder.fresh || other.fresh) && Together(*term, holder.node, other.node);
  }
  static bool AnyNear(const DrawnTerm& term, const One& self,
                      const std::map<std::string, One>& all) {
    return std::ranges::any_of(all, [&](const auto& one) {
      return one.second.placed() && one.second.app == term.app &&
             Together(term, self.node, one.second.node);
    });
  }
  // Or it is the first of those who ask for each other.
  bool HasNeighbour(const One& quota) const {
    const DrawnTerm& term = *quota.quotas.near;
    std::map<std::string, One> others = quotas_;
    others.erase(quota.name);
    if (AnyNear(term, quota, others)) return true;
    const bool stood = std::ranges::any_of(before_, [&](const auto& one) {
      return one.first != quota.name && one.second.placed() && one.second.app == term.app;
    });
    if (stood) return false;
    return term.app == quota.app || std::ranges::any_of(others, [&](const auto& one) {
             const std::optional<DrawnTerm>& back = one.second.quotas.near;
             return one.second.app == term.app && back && back->zone == term.zone &&
                    back->app == quota.app;
           });
  }

  Rng rng_;
  Cluster cluster_;
  std::map<std::string, One> quotas_, pods_, before_;
  int64_t placed_ = 0;
};

RC_GTEST_PROP(QuotaTermsLaw, NothingThatIsPlacedBreaksARequiredTerm, (uint64_t seed)) {
  TermsLaw law(seed);
  for (int step = 0; step < 4; ++step) {
    law.Step(step);
    const std::string broken = law.Broken();
    if (!broken.empty()) RC_FAIL(fmt::format("step {}: {}", step, broken));
  }
  RC_CLASSIFY(law.placed() > 3, "more than three pods placed");
}

}  // namespace
}  // namespace sky::plugins
