// SPDX-License-Identifier: Apache-2.0
#include "lab/soak_script.h"

#include <fmt/format.h>

namespace sky::lab {

namespace {

// Spot pods move every minute; a list of plugins replaces the default.
std::string Moving() {
  std::string plugins = "starveAfter: 10s\nplugins:\n";
  for (const char* name :
       {"priority", "gang", "conformance", "drf", "topology", "binpack", "jobqueue", "backoff",
        "predicates", "quotapredicates", "quotaaffinity", "nodeorder", "storage", "sylas"})
    plugins += fmt::format("- name: {}\n", name);
  return plugins +
         "- name: rescheduling\n  args:\n    interval: 1m\n    strategies:\n"
         "    - name: lowNodeUtilization\n"
         "      params: {thresholds: {nvidia.com/gpu: 40}, targetThresholds: {nvidia.com/gpu: "
         "70}}\n    - name: clearEarmarks\n";
}

}  // namespace

std::string SoakScript::Events(int steps) {
  std::string script = fmt::format(
      "config <<END\ncommitOrder: {}\nminRunTime: {}\nreservationTTL: {}\n{}END\n"
      "queue a weight=2\nqueue b\n"
      "leaf S1 n[0-3] gpu=8 hca=8 spot=8\nleaf S2 n[4-7] gpu=8 hca=8 spot=8\n"
      "quotas one-[0-15] gpu=1 hca=1 queue=a\nquotas two-[0-7] gpu=2 queue=b\n"
      "quotas all-[0-3] gpu=8 hca=8 queue=a shared=b\nquotas cpu-[0-3] cpu=4 queue=b\n",
      Any({"placementFirst", "quotaFirst"}), Any({"0s", "30s", "5m"}),
      Any({"0s", "30s", "5m", "5m"}), Chance(2) ? Moving() : "");
  // Of those spot pods that have the label "kept".
  script +=
      "apply <<END\napiVersion: policy/v1\nkind: PodDisruptionBudget\n"
      "metadata: {name: kept, namespace: default}\n"
      "spec: {minAvailable: 1, selector: {matchLabels: {kept: \"yes\"}}}\nEND\n";
  for (int i = 0; i < steps; ++i)
    script += Event() + "tick " + Any({"1ms", "20ms", "21ms", "100ms", "1s", "5s", "40s"}) + "\n";
  return script;
}

std::string SoakScript::Mend() const {
  return std::string("mend\n") + (killed_ ? "start\n" : "") +
         "return n[0-7]\nuncordon n[0-7]\n"
         "tick 15m\n";
}

std::string SoakScript::Empty() const {
  std::string script;
  for (const auto& [name, job] : jobs_)
    script +=
        fmt::format("delete podgroup {}\ndelete pod {}-[0-{}]\n", name, name, job.members - 1);
  return script + "tick 3m\n";
}

std::string SoakScript::Event() {
  switch (rng_.Below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return Submit();
    case 4:
    case 5:
    case 6:
      return ChangeJob();
    case 7:
    case 8:
      return ChangeNode();
    case 9:
      return ChangeQuota();
    case 10:
      return Fault();
    default:
      return Life();
  }
}

std::string SoakScript::Submit() {
  // More of them would only wait.
  if (jobs_.size() > 12) return ChangeJob();
  const std::string name = fmt::format("j{}", ++made_);
  Job job;
  job.amounts = Any({"gpu=1 hca=1", "gpu=1 hca=1", "gpu=8 hca=8", "gpu=2", "gpu=1", "cpu=2",
                     "spot=2", "spot=4", "spot=1 hca=1"});
  job.members = 1 + static_cast<int>(rng_.Below(6));
  // What its pods ask, and are.
  if (job.amounts.starts_with("spot")) {
    if (!Chance(3)) job.amounts += " owner=of-" + name;
    if (Chance(3)) job.amounts += " label=kept:yes";
  }
  std::string words = " queue=" + Any({"a", "b"});
  if (Chance(3))
    words += fmt::format(" min={}", 1 + rng_.Below(static_cast<uint64_t>(job.members)));
  if (Chance(5)) words += " zones=2";
  if (Chance(5)) words += " strict";
  if (Chance(4)) words += " pack";
  const std::string text = fmt::format("job {} {} {}{}\n", name, job.members, job.amounts, words);
  jobs_.emplace(name, std::move(job));
  return text;
}

std::string SoakScript::AnyJob() {
  auto at = jobs_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(rng_.Below(jobs_.size())));
  return at->first;
}

std::string SoakScript::AnyMember(const std::string& job) {
  return fmt::format("{}-{}", job, rng_.Below(static_cast<uint64_t>(jobs_.at(job).members)));
}

std::string SoakScript::ChangeJob() {
  if (jobs_.empty()) return Submit();
  const std::string name = AnyJob();
  const Job job = jobs_.at(name);
  const std::string all = fmt::format("{}-[0-{}]", name, job.members - 1);
  const std::string member = AnyMember(name);
  switch (rng_.Below(10)) {
    case 0:
    case 1:
      jobs_.erase(name);
      return fmt::format("delete podgroup {}\ndelete pod {}\n", name, all);
    case 2:
      return fmt::format("finish {}\n", all);
    case 3:
      return fmt::format("finish {}\n", member);
    case 4:
      return fmt::format("fail-pod {}{}\n", member, Any({"", " reason=OutOfnvidia.com/gpu"}));
    case 5:
      return fmt::format("delete pod {}\n", member);
    case 6:  // its controller makes it anew
      return fmt::format("delete pod {0} now\npod {0} {1} group={2}\n", member, job.amounts, name);
    case 7:  // it had been lost before, if it isn't there
      return fmt::format("pod {} {} group={}\n", member, job.amounts, name);
    case 8: {  // a whole restart
      std::string text = fmt::format("delete pod {} now\n", all);
      return text + fmt::format("pod {} {} group={}\n", all, job.amounts, name);
    }
    default:
      return fmt::format("patch podgroup {} {{\"spec\": {{\"minMember\": {}}}}}\n", name,
                         1 + rng_.Below(static_cast<uint64_t>(job.members)));
  }
}

std::string SoakScript::ChangeNode() {
  const std::string node = fmt::format("n{}", rng_.Below(8));
  switch (rng_.Below(6)) {
    case 0:
      return fmt::format("fail {}\n", node);
    case 1:
      return fmt::format("return {}\n", node);
    case 2:
      return fmt::format("cordon {}\n", node);
    case 3:
      return fmt::format("uncordon {}\n", node);
    case 4:
      return fmt::format(
          "patch nodetopology {} {{\"spec\": {{\"net\": {{\"roce\": [{{\"name\": \"mlx5_0\", "
          "\"switchName\": \"{}\"}}]}}}}}}\n",
          node, Any({"S1", "S2"}));
    default:
      return fmt::format("patch nodetopology {} {{\"spec\": {{\"net\": {{\"roce\": []}}}}}}\n",
                         node);
  }
}

std::string SoakScript::ChangeBudget() {
  return fmt::format(
      "patch poddisruptionbudget kept status {{\"observedGeneration\": 1, \"disruptionsAllowed\": "
      "{}, \"currentHealthy\": 5, \"desiredHealthy\": 1, \"expectedPods\": 5}}\n",
      rng_.Below(3));
}

std::string SoakScript::ChangeQuota() {
  if (Chance(4)) return ChangeBudget();
  if (Chance(8))
    return fmt::format("patch queue b {{\"spec\": {{\"reclaimable\": {}}}}}\n",
                       Any({"true", "false"}));

  const std::string quota =
      Any({"one-0", "one-1", "one-7", "two-0", "two-3", "all-0", "all-1", "cpu-0"});
  switch (rng_.Below(4)) {
    case 0:
      return fmt::format("delete quota {}\n", quota);
    case 1:
      return fmt::format("quotas {} {} queue={}\n", quota, Any({"gpu=1 hca=1", "gpu=4", "cpu=8"}),
                         Any({"a", "b"}));
    case 2:
      return fmt::format("patch quota {} {{\"spec\": {{\"queueName\": \"{}\"}}}}\n", quota,
                         Any({"a", "b"}));
    default:
      return fmt::format("patch quota {} status {{\"nodeName\": \"{}\", \"tasks\": []}}\n", quota,
                         Any({"", "n0", "n5"}));
  }
}

std::string SoakScript::Fault() {
  if (Chance(3)) return "mend\n";
  const std::string match =
      Any({"verb: create, resource: pods, subresource: binding",
           "verb: create, resource: pods, subresource: eviction",
           "verb: create, resource: placements", "verb: write, resource: placements",
           "verb: write, resource: quotas", "verb: write, resource: podgroups",
           "verb: get, resource: pods", "event: true, resource: pods",
           "event: true, resource: quotas", "event: true, resource: podgroups"});
  const std::string action =
      match.starts_with("event")
          ? Any({"cutWatch: true", "hold: 2s", "hold: 20s"})
          : Any({"dropAnswer: true", "dropRequest: true", "delay: 2s", "delayAnswer: 5s",
                 "refuse: {code: 429, retryAfter: 3}", "refuse: {code: 500}", "refuse: {code: 409}",
                 "refuse: {code: 403}"});
  return fmt::format(
      "fault <<END\nfaults:\n- match: {{{}, nth: {}, count: {}}}\n  action: {{{}}}\nEND\n", match,
      1 + rng_.Below(3), 1 + rng_.Below(5), action);
}

std::string SoakScript::Life() {
  if (killed_) {
    killed_ = false;
    return "start\n";
  }
  switch (rng_.Below(4)) {
    case 0:
      return "cut\n";
    case 1:
      return "compact\n";
    case 2:
      return "kill\nstart\n";
    default:
      killed_ = true;
      return "kill\n";
  }
}

}  // namespace sky::lab
