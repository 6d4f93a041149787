// SPDX-License-Identifier: Apache-2.0
// The hollow kubelets of an ApiServer in the same process: reads its watches, carries out what the
// state machine asks. Not thread-safe but for what the watches push; the server must outlive it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lab/api_server.h"
#include "lab/in_process.h"
#include "lab/kubelets.h"

namespace sky::lab {

class LocalKubelets {
 public:
  LocalKubelets(ApiServer& api, const Clock& clock, KubeletOptions options);
  ~LocalKubelets();

  // Takes in what has changed, and does what is due. True when it wrote something.
  bool Step();
  // When Step has something to do even if nothing changes.
  MonoTime next_due() const { return kubelets_.next_due(); }
  Kubelets& kubelets() { return kubelets_; }

 private:
  // One watch, begun again when it ends; what is missing then was deleted.
  template <class T>
  struct Feed {
    std::string target;
    ApiServer::WatchId watch = 0;
    std::mutex mutex;
    std::vector<WatchEvent> events;
    bool ended = true;
    std::map<std::string, std::shared_ptr<const T>> known;
  };
  template <class T>
  void Begin(Feed<T>& feed, std::vector<api::Delta<T>>& deltas);
  template <class T>
  std::vector<api::Delta<T>> Drain(Feed<T>& feed);
  void Carry(const KubeletWrite& write);

  ApiServer& api_;
  const Clock& clock_;
  InProcess client_;
  Kubelets kubelets_;
  Feed<api::Node> nodes_;
  Feed<api::Pod> pods_;
};

}  // namespace sky::lab
