// SPDX-License-Identifier: Apache-2.0
// gang: a job is placed with at least `needed` members (the larger of minMember and the sum of its
// role minima) or not at all. Orders damaged jobs first and unready before ready at equal priority.
#pragma once

#include "framework/plugin.h"

namespace sky::plugins {

class Gang final : public framework::Plugin {
 public:
  std::string_view name() const override { return "gang"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();
};

}  // namespace sky::plugins
