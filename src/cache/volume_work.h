// SPDX-License-Identifier: Apache-2.0
// What a round's pods still need of their volumes before they can be bound, and writes that ended
// decisions have left behind. The cache says it, the executor has it done.
#pragma once

#include <string>
#include <vector>

namespace sky::cache {

// One write: the volume is given to the claim, or (no volume) the claim's node is said, so that its
// provisioner makes one there. An empty node: what we said is taken back.
struct VolumeWrite {
  std::string namespace_, claim, claim_uid, claim_version;  // the versions that this was read from
  std::string volume, volume_version;
  std::string node, pod_uid;
};

struct VolumeWork {
  std::vector<VolumeWrite> writes;
  std::string waits_for;          // "claim data": not bound yet; "": none
  std::string lost;               // why it can't come true here, for people; "": it can
  std::vector<std::string> uids;  // of the pods that it is about
  bool done() const { return writes.empty() && waits_for.empty() && lost.empty(); }
};

}  // namespace sky::cache
