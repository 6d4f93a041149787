// SPDX-License-Identifier: Apache-2.0
// priority: higher queues and jobs first, as int64 keys, so the order is total (F48).
#pragma once

#include "framework/plugin.h"

namespace sky::plugins {

class Priority final : public framework::Plugin {
 public:
  std::string_view name() const override { return "priority"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();
};

}  // namespace sky::plugins
