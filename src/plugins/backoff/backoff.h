// SPDX-License-Identifier: Apache-2.0
// backoff: a job whose last round failed (a refused bind or eviction, a voided round) is not
// planned before its pause is over. How long that is, and what ends it early, is kept by the
// scheduler (scheduler/backoffs.h), which hears of failures; here it becomes a vote.
#pragma once

#include "framework/plugin.h"

namespace sky::plugins {

class Backoff final : public framework::Plugin {
 public:
  std::string_view name() const override { return "backoff"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();
};

}  // namespace sky::plugins
