// SPDX-License-Identifier: Apache-2.0
// Healing (fixQuotaBinding) after any history of edits by hand: pods are bound, taken away, left
// terminating and claimed by strangers, statuses are scribbled over. What a quota's node must be
// then is worked out here from the API's objects alone; the ledgers agree with it, one round of
// status writes brings the picture there, and pods without the right to a quota move nothing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "api/keys.h"
#include "testing/random_events.h"

namespace sky::cache {
namespace {

namespace key = api::key;
using testing::Cluster;

// The rules once more, said in terms of objects.
class Oracle {
 public:
  explicit Oracle(const Cluster& c) : c_(c) {}

  struct Answer {
    std::vector<std::string> nodes;  // any of these ("": none), where leaving pods disagree
    bool split = false;
  };
  Answer NodeOf(const api::Quota& quota) const {
    std::vector<std::string> live, leaving;
    for (const api::Pod* pod : Pods()) {
      if (!Holds(*pod) || pod->metadata.Annotation(key::kQuotaName) != quota.metadata.name ||
          !MayUse(*pod, quota))
        continue;
      (pod->metadata.deleting() ? leaving : live).push_back(pod->spec.node_name);
    }
    std::ranges::sort(live);
    live.erase(std::unique(live.begin(), live.end()), live.end());
    if (live.size() > 1) return {{quota.status.node_name}, true};
    if (!live.empty()) return {live};
    if (!leaving.empty()) return {leaving};
    if (!quota.status.tasks.empty()) return {{""}};
    return {{quota.status.node_name}};
  }
  // Σ requests of what holds room on the node, whoever schedules it.
  int64_t UsedGpus(const std::string& node) const {
    int64_t sum = 0;
    for (const api::Pod* pod : Pods())
      if (Holds(*pod) && pod->spec.node_name == node) sum += Gpus(Requests(*pod));
    return sum;
  }
  static int64_t Gpus(const api::ResourceList& list) {
    const auto found = list.find("nvidia.com/gpu");
    return found == list.end() ? 0 : found->second.MilliValue();
  }

 private:
  std::vector<const api::Pod*> Pods() const {
    std::vector<const api::Pod*> pods;
    for (const std::string& name : c_.Keys<api::Pod>()) pods.push_back(&c_.Get<api::Pod>(name));
    return pods;
  }
  static const api::ResourceList& Requests(const api::Pod& pod) {
    return pod.spec.containers[0].resources.requests;
  }
  static bool Holds(const api::Pod& pod) { return !pod.spec.node_name.empty() && !pod.terminal(); }
  // Our scheduler's, and of a queue that the quota is for, or taken by right before.
  bool MayUse(const api::Pod& pod, const api::Quota& quota) const {
    if (pod.spec.scheduler_name != "sky-scheduler") return false;
    const auto taken = [&](const api::QuotaTask& task) { return task.uid == pod.metadata.uid; };
    if (std::ranges::any_of(quota.status.tasks, taken)) return true;
    std::string queue = "default";
    if (const std::string group(pod.metadata.Annotation(key::kGroupName)); !group.empty()) {
      const auto groups = c_.Keys<api::PodGroup>();
      const std::string name = pod.metadata.namespace_ + "/" + group;
      // Nobody knows its queue: it can't be said that it has no right.
      if (std::ranges::count(groups, name) == 0) return true;
      queue = c_.Get<api::PodGroup>(name).spec.queue;
      if (queue.empty()) queue = "default";
    }
    return quota.spec.queue_name == queue ||
           std::ranges::count(quota.spec.shared_queues, queue) > 0;
  }

  const Cluster& c_;
};

std::string NodeName(const model::Cluster& rows, model::NodeId id) {
  return id.valid() ? rows.nodes()[id].name : std::string();
}

// "" when the ledgers are what the facts say.
std::string Disagreement(const Cluster& c, const model::Cluster& rows) {
  const Oracle oracle(c);
  std::map<std::string, int64_t> shares;
  for (const std::string& name : c.Keys<api::Quota>()) {
    const api::Quota& quota = c.Get<api::Quota>(name);
    const model::Quota& row = rows.quotas()[rows.quotas().Find(name)];
    const Oracle::Answer answer = oracle.NodeOf(quota);
    const std::string node = NodeName(rows, row.node);
    if (row.split != answer.split || std::ranges::count(answer.nodes, node) == 0)
      return fmt::format("quota {} is on \"{}\", split {}; the facts say \"{}\", {}", name, node,
                         row.split, fmt::join(answer.nodes, "\" or \""), answer.split);
    shares[node] += Oracle::Gpus(quota.spec.request);
  }
  const model::ResourceId gpu = rows.names().resources.Intern("nvidia.com/gpu");
  for (size_t i = 0; i < rows.nodes().size(); ++i) {
    const model::Node& node = rows.nodes()[model::NodeId(i)];
    if (!node.live) continue;
    if (node.used[gpu] != oracle.UsedGpus(node.name))
      return fmt::format("{} uses {}, not {}", node.name, node.used[gpu],
                         oracle.UsedGpus(node.name));
    if (node.quota_requests[gpu] != shares[node.name])
      return fmt::format("{} holds shares of {}, not {}", node.name, node.quota_requests[gpu],
                         shares[node.name]);
  }
  return {};
}

// Somebody edits the status of a quota.
void Scribble(Cluster& c, Rng& rng) {
  const auto quotas = c.Keys<api::Quota>(), pods = c.Keys<api::Pod>();
  if (quotas.empty()) return;
  c.Edit<api::Quota>(quotas[rng.Below(quotas.size())], [&](api::Quota& quota) {
    api::QuotaStatus& status = quota.status;
    const std::vector<std::string> nodes = {"", "n0", "n3", "n5", "nowhere"};
    switch (rng.Below(5)) {
      case 0:
        status.node_name = nodes[rng.Below(nodes.size())];
        break;
      case 1:
        status.tasks.clear();
        break;
      case 2: {
        api::QuotaTask& task = status.tasks.emplace_back();
        task.name = "forged";
        task.uid = rng.Below(2) == 0 || pods.empty()
                       ? "nobody"
                       : c.Get<api::Pod>(pods[rng.Below(pods.size())]).metadata.uid;
        break;
      }
      case 3:
        status.phase = rng.Below(2) == 0 ? "QuotaBound" : "QuotaEmpty";
        break;
      default:
        status.allocated.insert_or_assign("nvidia.com/gpu", api::Quantity::Units(7));
    }
  });
}

// All status writes that are due, taken by the API; how many.
size_t WritePictures(Cluster& c) {
  const std::vector<Picture> stale = c.cache().TakeStalePictures(1000);
  for (const Picture& picture : stale)
    c.Edit<api::Quota>(picture.name, [&](api::Quota& quota) {
      const auto shadow = quota.status.shadow_resource;
      quota.status = picture.status;
      quota.status.shadow_resource = shadow;
    });
  return stale.size();
}

RC_GTEST_PROP(HealingLaw, OneRoundOfWritesBringsThePictureToWhereTheLivePodsAre, (uint64_t seed)) {
  Cluster c;
  testing::RandomEvents events(c, seed);
  Rng rng(seed ^ 0x5eed);
  events.Begin();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i) {
      events.Next();
      Scribble(c, rng);
    }
    const model::Cluster before = c.cache().Copy();
    if (const std::string wrong = Disagreement(c, before); !wrong.empty()) RC_FAIL(wrong);

    WritePictures(c);
    RC_ASSERT(WritePictures(c) == 0u);
    const model::Cluster after = c.cache().Copy();
    if (const std::string wrong = Disagreement(c, after); !wrong.empty()) RC_FAIL(wrong);
    for (const std::string& name : c.Keys<api::Quota>()) {
      const api::Quota& quota = c.Get<api::Quota>(name);
      const model::Quota& row = after.quotas()[after.quotas().Find(name)];
      // The picture changed; where things are didn't.
      RC_ASSERT(NodeName(before, before.quotas()[before.quotas().Find(name)].node) ==
                NodeName(after, row.node));
      if (row.split || quota.metadata.deleting()) continue;
      RC_ASSERT(quota.status.node_name == NodeName(after, row.node));
      RC_ASSERT(quota.status.tasks.size() == row.tasks.size());
      // A quota that was never bound may have no phase yet.
      RC_ASSERT((quota.status.phase == "QuotaBound") == row.node.valid());
    }
  }
}

RC_GTEST_PROP(HealingLaw, PodsWithoutTheRightToAQuotaMoveNothing, (uint64_t seed)) {
  Cluster c;
  testing::RandomEvents events(c, seed);
  Rng rng(seed ^ 0x5eed);
  events.Begin();
  for (int i = 0; i < 12; ++i) events.Next();
  WritePictures(c);
  const model::Cluster before = c.cache().Copy();
  c.Queue("enemy");
  c.Put(testing::MakeGroup("invaders", 1, *testing::ReadWords("queue=enemy")));
  for (int i = 0; i < 6; ++i) {
    const auto quotas = c.Keys<api::Quota>();
    const std::string& quota = quotas[rng.Below(quotas.size())];
    if (std::ranges::count(c.Get<api::Quota>(quota).spec.shared_queues, "enemy") > 0) continue;
    const bool stranger = rng.Below(2) == 0;
    const std::string words = fmt::format("gpu=1 node=n{} quota={}{}", rng.Below(6), quota,
                                          stranger ? " scheduler=stranger" : "");
    c.Put(testing::MakeWorker(stranger ? "" : "invaders", fmt::format("hostile-{}", i),
                              *testing::ReadWords(words)));
  }
  const model::Cluster after = c.cache().Copy();
  for (const std::string& name : c.Keys<api::Quota>()) {
    const model::Quota& was = before.quotas()[before.quotas().Find(name)];
    const model::Quota& is = after.quotas()[after.quotas().Find(name)];
    RC_ASSERT(NodeName(before, was.node) == NodeName(after, is.node));
    RC_ASSERT(was.split == is.split);
    RC_ASSERT(was.charge == is.charge);
    RC_ASSERT(was.tasks.size() == is.tasks.size());
  }
  RC_ASSERT(WritePictures(c) == 0u);
  // They are counted at their nodes all the same.
  if (const std::string wrong = Disagreement(c, after); !wrong.empty()) RC_FAIL(wrong);
}

}  // namespace
}  // namespace sky::cache
