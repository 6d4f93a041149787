// SPDX-License-Identifier: Apache-2.0
// The API server as a run uses it: finds what runs have made, creates, and removes. Blocking, for
// the thread that drives the run; Send* are for batches, on the loop.
#pragma once

#include <string>
#include <vector>

#include "kube/client.h"
#include "load/batch.h"
#include "load/options.h"
#include "load/plan.h"

namespace sky::load {

class Cluster {
 public:
  Cluster(kube::Client& client, int in_flight)
      : client_(client), in_flight_(static_cast<size_t>(in_flight)) {}

  Result<Survey> Look();
  // It stays when the run is over: removing one takes a namespace controller.
  Status MakeNamespace(const std::string& name);
  // What the groups of the run say of why they wait, by name.
  Result<std::map<std::string, std::string>> GroupReasons(const std::string& ns);

  // The kinds of what runs make, in the order in which they are to go.
  static std::vector<const api::Kind*> KindsMade();
  // Those of one kind, with the Placements of PodGroups beside them.
  struct Found {
    const api::Kind* kind = nullptr;
    api::ObjectMeta meta;
  };
  Result<std::vector<Found>> Find(const api::Kind& kind);

  std::shared_ptr<Batch> Create(std::vector<Made> objects);
  std::shared_ptr<Batch> Delete(std::vector<Found> objects);
  // A creation whose answer was lost is sent again; that it exists is then good.
  void SendCreate(const Made& object, kube::DoneStatus done);
  void SendDelete(const Found& object, kube::DoneStatus done);

 private:
  void SendCreate(const Made& object, int try_number, kube::DoneStatus done);

  kube::Client& client_;
  const size_t in_flight_;
};

}  // namespace sky::load
