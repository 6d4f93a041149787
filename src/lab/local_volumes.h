// SPDX-License-Identifier: Apache-2.0
// A stand-in for the controllers of claims and volumes (persistent volumes, ephemeral claims, a
// provisioner for every class) of an ApiServer in the same process, under its clock. It looks at
// everything when something has changed: for tests, not for size. Not thread-safe but for what the
// watches push; the server must outlive it.
//
// Annotations of a StorageClass: lab.infini-ai.com/provision-takes (a duration; 1s) and
// lab.infini-ai.com/provision-refused (a node whose volumes can't be made: the claim loses its
// selected-node, as a provisioner does it).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/volumes.h"
#include "lab/api_server.h"
#include "lab/in_process.h"

namespace sky::lab {

class LocalVolumes {
 public:
  LocalVolumes(ApiServer& api, const Clock& clock);
  ~LocalVolumes();

  // Does what is due. True when it wrote something.
  bool Step();
  MonoTime next_due() const;

 private:
  struct Feed {
    std::string target;
    ApiServer::WatchId watch = 0;
    bool ended = true;
  };
  struct Seen {
    std::vector<api::PersistentVolumeClaim> claims;
    std::vector<api::PersistentVolume> volumes;
    std::map<std::string, api::StorageClass> classes;
  };

  void Watch(Feed& feed);
  bool MakeEphemeralClaims();
  bool StepVolume(const Seen& seen, const api::PersistentVolume& volume);
  bool StepClaim(const Seen& seen, const api::PersistentVolumeClaim& claim);
  bool Complete(const api::PersistentVolumeClaim& claim, const api::PersistentVolume& volume);
  bool Provision(const api::PersistentVolumeClaim& claim, const api::StorageClass& made, bool late);
  bool Patch(const std::string& target, const Json& body);

  ApiServer& api_;
  const Clock& clock_;
  InProcess client_;
  std::vector<std::unique_ptr<Feed>> feeds_;
  std::mutex mutex_;
  bool dirty_ = true, ephemeral_ = false;
  std::map<std::string, std::pair<std::string, MonoTime>> due_;  // by claim: for which node, when
};

}  // namespace sky::lab
