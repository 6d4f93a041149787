// SPDX-License-Identifier: Apache-2.0
// The whole system in one process under a virtual clock: embedded API server, client, scheduler,
// all on one thread, one seed, no sockets. Scenario scripts, crash tests and the soak drive it.
// Objects go in and out as JSON through the same API that a real client uses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/client.h"
#include "lab/api_server.h"
#include "lab/local_kubelets.h"
#include "lab/local_volumes.h"
#include "lab/process_transport.h"
#include "lab/static_binder.h"
#include "scheduler/feeds.h"
#include "scheduler/kube_writer.h"

namespace sky::lab {

struct SimulationOptions {
  framework::Config config;
  uint64_t seed = 1;
  bool garbage_collector = false;
  bool kubelets = true;  // bound pods start, end and are stopped; nodes beat; volumes are made
};

class Simulation {
 public:
  static Result<std::unique_ptr<Simulation>> Create(SimulationOptions options);
  ~Simulation();

  // --- the API, as a user ---
  // Creates or replaces the object that the JSON or YAML document describes.
  Status Apply(std::string_view document);
  server::Response Call(std::string_view method, std::string_view target,
                        std::string_view body = {},
                        std::string_view content_type = "application/json");
  template <class T>
  Result<T> Get(std::string_view ns, std::string_view name) {
    const server::Response response = Call("GET", api::KindOf<T>().Path(ns, name));
    if (response.status != 200)
      return Fail(Code::kNotFound, "{} {}: {}", api::KindOf<T>().kind, name, response.status);
    return api::Decode<T>(response.body);
  }
  template <class T>
  std::vector<T> List();

  // The machines; only with options.kubelets.
  Kubelets& kubelets() { return kubelets_->kubelets(); }

  // --- time ---
  void Settle();  // everything that is due at this instant
  void Advance(Duration by);
  // Until the next write has reached the API server, at most `by`; false: nobody wrote.
  bool AdvanceToWrite(Duration by);

  // --- the scheduler ---
  void Configure(framework::Config config);  // at its next start
  void StartScheduler();
  void KillScheduler();  // as kill -9: nothing is settled or released
  void CutStreams();     // its watches break off, as when the server goes away
  scheduler::Scheduler* scheduler() { return process_ ? process_->scheduler.get() : nullptr; }

  const ManualClock& clock() const { return clock_; }
  ManualClock& clock() { return clock_; }
  ApiServer& api() { return *api_; }
  Front& front() { return *front_; }  // its faults meet the scheduler alone
  kube::ManualLoop& loop() { return loop_; }
  std::vector<std::string> events;  // notes of the scheduler, in order

 private:
  explicit Simulation(SimulationOptions options);
  struct Process : scheduler::EventSink {
    scheduler::AlwaysLeads leadership;
    std::unique_ptr<ProcessTransport> transport;
    std::unique_ptr<kube::Client> client;
    std::unique_ptr<scheduler::KubeWriter> writer;
    std::unique_ptr<scheduler::Scheduler> scheduler;
    std::unique_ptr<scheduler::Feeds> feeds;
    std::vector<std::string>* events = nullptr;
    void Note(const cache::ClusterWriter::EventNote& note) override;
  };
  MonoTime NextDue() const;
  bool StepMachines();
  void Work();  // whatever is due now, until nothing is

  SimulationOptions options_;
  ManualClock clock_;
  std::vector<std::unique_ptr<ProcessTransport>> dead_;  // of killed schedulers: see Die
  kube::ManualLoop loop_;
  std::unique_ptr<ApiServer> api_;
  std::unique_ptr<Front> front_;
  std::unique_ptr<LocalKubelets> kubelets_;
  std::unique_ptr<StaticBinder> static_binder_;
  std::unique_ptr<LocalVolumes> volumes_;
  std::unique_ptr<Process> process_;
};

}  // namespace sky::lab
