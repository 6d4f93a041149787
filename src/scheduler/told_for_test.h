// SPDX-License-Identifier: Apache-2.0
// A scheduler of the defaults that nothing but a test tells of objects, and whose writes the test
// answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "scheduler/fake_writer_for_test.h"
#include "scheduler/known.h"
#include "scheduler/scheduler.h"
#include "testing/words.h"

namespace sky::scheduler {

struct ToldScheduler : ::testing::Test {
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter api;
  AlwaysLeads leads;
  std::unique_ptr<Scheduler> scheduler;
  int version = 0;

  // There is the queue default, and the kinds aren't synced yet.
  ToldScheduler() {
    auto engine = framework::Engine::Make(AllKnown(), framework::DefaultConfig(AllKnown().Known()));
    SKY_CHECK(engine.has_value(), "{}", engine.error().message());
    scheduler = std::make_unique<Scheduler>(loop, std::move(*engine), api, leads, RunInline);
    api::Queue queue;
    queue.metadata.name = "default";
    Tell(queue);
  }
  ~ToldScheduler() override { scheduler->Stop(); }

  void Begin() {
    scheduler->OnSynced();
    scheduler->OnLeadership(true);
  }
  // As the API server has it then: its UID is "uid-" and its name, unless it has one.
  template <class T>
  T Tell(T object, bool gone = false) {
    using Type = typename api::Delta<T>::Type;
    if (object.metadata.uid.empty()) object.metadata.uid = "uid-" + object.metadata.name;
    object.metadata.resource_version = std::to_string(++version);
    auto shared = std::make_shared<const T>(object);
    scheduler->OnDelta(
        api::Delta<T>{gone ? Type::kDelete : Type::kAdd, shared, gone ? shared : nullptr});
    return object;
  }
};

}  // namespace sky::scheduler
