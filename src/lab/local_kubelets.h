// SPDX-License-Identifier: Apache-2.0
// The hollow kubelets of an ApiServer in the same process: reads its watches, carries out what the
// state machine asks. Not thread-safe but for what the watches push; the server must outlive it.
#pragma once

#include "lab/kubelets.h"
#include "lab/local_feed.h"

namespace sky::lab {

class LocalKubelets {
 public:
  LocalKubelets(ApiServer& api, const Clock& clock, KubeletOptions options);

  // Takes in what has changed, and does what is due. True when it wrote something.
  bool Step();
  // When Step has something to do even if nothing changes.
  MonoTime next_due() const { return kubelets_.next_due(); }
  Kubelets& kubelets() { return kubelets_; }

 private:
  void Carry(const KubeletWrite& write);

  const Clock& clock_;
  InProcess client_;
  Kubelets kubelets_;
  LocalFeed<api::Node> nodes_;
  LocalFeed<api::Pod> pods_;
};

}  // namespace sky::lab
