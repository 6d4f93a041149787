// SPDX-License-Identifier: Apache-2.0
// An API server behind its front, on a loop of its own: what the replicas of a test share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "api/json.h"
#include "api/kinds.h"
#include "kube/loop.h"
#include "lab/front.h"
#include "lab/test_cluster.h"

namespace sky::lab {

struct Served {
  TestCluster c;
  kube::ManualLoop server_loop{c.clock};
  Front front{*c.api, c.clock,
              [this](Duration wait, std::function<void()> task) {
                server_loop.RunAfter(wait, std::move(task));
              },
              [](int) {}};

  template <class T>
  void Put(const T& object) {
    const api::Kind& kind = api::KindOf<T>();
    const std::string ns = kind.namespaced ? "default" : "";
    EXPECT_EQ(c.client->Post(kind.Path(ns, ""), J(api::Encode(object))).status, 201);
  }
};

}  // namespace sky::lab
