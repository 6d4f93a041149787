// SPDX-License-Identifier: Apache-2.0
// drf: dominant resource fairness. The share of a job or a queue is the largest part that it uses
// of anything that the nodes offer, in units of 10⁻¹². Of two queues below the same parent the one
// with the smaller share for its weight goes first, with all that stands below it; of two jobs the
// one with the smaller share. Whole numbers, without a tolerance: an order stays an order (F48).
#pragma once

#include "framework/plugin.h"
#include "model/cluster.h"

namespace sky::plugins {

class Drf final : public framework::Plugin {
 public:
  static constexpr int64_t kWhole = 1'000'000'000'000;

  std::string_view name() const override { return "drf"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

  // Of what is offered; what nobody offers counts as a whole. Saturates.
  static int64_t Share(const model::Resources& used, const model::Resources& offered);
};

}  // namespace sky::plugins
