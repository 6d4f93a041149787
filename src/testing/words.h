// SPDX-License-Identifier: Apache-2.0
// A cluster said the way one would draw it: "n[0-3]" and "gpu=8 hca=8 spec=a100" as API objects.
// The same words serve C++ tests, scenario scripts, the demo and the docs. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "api/crds.h"
#include "api/pod.h"
#include "base/result.h"

namespace sky::testing {

// "n[0-3]" → n0 n1 n2 n3; "a,b[1-2]" → a b1 b2; a plain name stays one.
Result<std::vector<std::string>> ExpandNames(std::string_view words);

// "gpu=8 hca=8 spec=a100 strict" split by what it says.
struct Words {
  api::ResourceList amounts;  // gpu, hca, roce, cpu, mem, pods, spot, or a name with "/"
  std::map<std::string, std::string> pairs;  // everything else with "="
  std::vector<std::string> flags;
  bool Has(std::string_view flag) const;
  std::string Or(const std::string& key, std::string fallback) const;
};
Result<Words> ReadWords(std::string_view text);

// Ready, with 64 cpu, 512Gi and 110 pod slots unless the words say otherwise. spec=a100 label=k:v
// taint=k index=3
api::Node MakeNode(const std::string& name, const Words& words);
// One NIC a switch, named eth0, eth1, …; network "roce" or "ib".
api::NodeTopology MakeTopology(const std::string& node, const std::string& network,
                               const std::vector<std::string>& switches);
// queue=q spec=a100 static=n1 shared=a,b node=n1 (already bound there)
api::Quota MakeQuota(const std::string& name, const Words& words);
// min=3 queue=q priority=class zones=2 attract=key strict off pack ns=x
api::PodGroup MakeGroup(const std::string& name, int members, const Words& words);
// role=r required=q node=n1 quota=q select=k:v label=k:v hostport=80 run=30s scheduler=other gated
// attract=key owner=set (that makes it anew) ns=x; an empty group: a pod of its own
api::Pod MakeWorker(const std::string& group, const std::string& name, const Words& words);

}  // namespace sky::testing
