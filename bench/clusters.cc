// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"

#include <fmt/format.h>

namespace sky::bench {

void GiveMachines(cache::Cache& cache, int nodes) {
  const testing::Words machine = Say("gpu=8 hca=8 spec=a100"), share = Say("gpu=1 hca=1");
  api::Queue queue;
  queue.metadata.name = "default";
  Give(cache, queue, "queue");
  for (int i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("n{}", i);
    Give(cache, testing::MakeNode(name, machine), name);
    Give(cache, testing::MakeTopology(name, "roce", {fmt::format("S{}", i / 16)}), "t" + name);
  }
  for (int i = 0; i < nodes * 8; ++i)
    Give(cache, testing::MakeQuota(fmt::format("q{}", i), share), fmt::format("q{}", i));
}

void GiveGang(cache::Cache& cache, const std::string& name, int members) {
  const testing::Words share = Say("gpu=1 hca=1");
  for (int m = 0; m < members; ++m) {
    const std::string pod = fmt::format("{}-{}", name, m);
    Give(cache, testing::MakeWorker(name, pod, share), pod);
  }
  Give(cache, testing::MakeGroup(name, members, share), name);
}

}  // namespace sky::bench
