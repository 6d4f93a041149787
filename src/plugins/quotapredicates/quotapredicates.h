// SPDX-License-Identifier: Apache-2.0
// quotapredicates: which quota a task may use (its queue's or one shared with it, with room, of the
// spec that the gang wants; the one that it demands), and on which node a quota may sit (its
// nodeSelector, and request ≤ QuotaIdle). Tiers in hop 1: required > bound > free, then best fit.
#pragma once

#include "framework/plugin.h"
#include "model/cluster.h"

namespace sky::plugins {

class QuotaPredicates final : public framework::Plugin {
 public:
  std::string_view name() const override { return "quotapredicates"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();
};

}  // namespace sky::plugins
