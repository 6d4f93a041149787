// SPDX-License-Identifier: Apache-2.0
#include "lab/local_kubelets.h"

#include <nlohmann/json.hpp>

namespace sky::lab {
LocalKubelets::LocalKubelets(ApiServer& api, const Clock& clock, KubeletOptions options)
    : clock_(clock),
      client_(api, "kubelet/sky-lab"),
      kubelets_(options),
      nodes_(api, client_, "/api/v1/nodes?watch=true"),
      pods_(api, client_, "/api/v1/pods?watch=true") {}

bool LocalKubelets::Step() {
  for (const auto& delta : nodes_.Drain()) kubelets_.OnNode(delta);
  for (const auto& delta : pods_.Drain()) kubelets_.OnPod(delta);
  const std::vector<KubeletWrite> writes = kubelets_.Step(clock_.Mono(), clock_.Wall());
  for (const KubeletWrite& write : writes) Carry(write);
  return !writes.empty();
}

// A write that is refused is asked for again by the state machine, if it is still wanted.
void LocalKubelets::Carry(const KubeletWrite& write) {
  const std::string pod = fmt::format("/api/v1/namespaces/{}/pods/{}", write.ns, write.name);
  const auto patch = [&](const std::string& path) {
    client_.Do("PATCH", path, write.patch, "application/strategic-merge-patch+json");
  };
  switch (write.kind) {
    case KubeletWrite::Kind::kPodStatus:
      return patch(pod + "/status");
    case KubeletWrite::Kind::kNodeStatus:
      return patch(fmt::format("/api/v1/nodes/{}/status", write.name));
    case KubeletWrite::Kind::kDeletePod: {
      const Json options = {{"gracePeriodSeconds", 0}, {"preconditions", {{"uid", write.uid}}}};
      client_.Delete(pod, &options);
    }
  }
}

}  // namespace sky::lab
