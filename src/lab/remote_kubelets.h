// SPDX-License-Identifier: Apache-2.0
// The hollow kubelets of any API server, over a client: informers feed the state machine, and what
// it asks goes out as patches and deletes. Lives on the client's loop: Start from any thread,
// destroy it on the loop or when the loop has ended.
#pragma once

#include <functional>

#include "kube/client.h"
#include "kube/informer.h"
#include "lab/kubelets.h"

namespace sky::lab {

class RemoteKubelets {
 public:
  // `on_synced` is called once, on the loop, when nodes and pods have all been seen.
  RemoteKubelets(kube::Client& client, KubeletOptions options, std::function<void()> on_synced);
  ~RemoteKubelets();
  RemoteKubelets(const RemoteKubelets&) = delete;
  RemoteKubelets& operator=(const RemoteKubelets&) = delete;

  void Start();

 private:
  void Synced();
  void StepSoon();
  void Step();
  void Carry(const KubeletWrite& write);

  kube::Client& client_;
  Kubelets kubelets_;
  std::function<void()> on_synced_;
  bool step_posted_ = false;
  kube::TimerId timer_ = 0;
  kube::Lifeline alive_;
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::Pod> pods_;
};

}  // namespace sky::lab
