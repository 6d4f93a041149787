// SPDX-License-Identifier: Apache-2.0
// Writes on claims and volumes: the node that a claim's provisioner is to use, the claim that a
// volume is for, and what of the former has to be taken back. Each is under the version that it was
// read from, and isn't repeated before the watch has shown another one. Lives on the loop, inside
// the executor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cache/cache.h"
#include "cache/writer.h"
#include "kube/loop.h"

namespace sky::scheduler {

class VolumeWrites {
 public:
  // `look` is called when it is worthwhile to ask the cache again.
  VolumeWrites(kube::Loop& loop, cache::ClusterWriter& writer, std::function<bool()> may_write,
               std::function<void()> look);

  // What a round still needs. Not "": it can't be done, for people.
  std::string Send(uint64_t round, const std::vector<cache::VolumeWrite>& writes);
  void Clear(const std::vector<cache::VolumeWrite>& stray);
  void Forget(uint64_t round);  // it has ended
  size_t in_flight() const { return in_flight_; }

 private:
  bool Wait(const cache::VolumeWrite& write) const;  // for the watch to show the last write
  void Make(const cache::VolumeWrite& write, uint64_t round);
  void Answered(const std::string& object, uint64_t round, const std::string& claim,
                const Result<cache::Written>& answer);

  kube::Loop& loop_;
  cache::ClusterWriter& writer_;
  const std::function<bool()> may_write_;
  const std::function<void()> look_;
  struct Written {
    std::string version;  // on which it was made
    uint64_t round;       // 0: what was said is taken back
  };
  std::map<std::string, Written> written_;           // by "claim ns/name" or "volume name"
  std::set<std::pair<uint64_t, std::string>> said_;  // claims whose node a round has said
  std::map<uint64_t, std::string> refused_;
  size_t in_flight_ = 0;
  kube::Lifeline alive_;
};

}  // namespace sky::scheduler
