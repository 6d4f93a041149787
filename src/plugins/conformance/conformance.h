// SPDX-License-Identifier: Apache-2.0
// conformance: what the cluster itself needs is nobody's victim. Pods with a system priority class
// (system-cluster-critical, system-node-critical) and those of kube-system are never pushed out.
#pragma once

#include "framework/plugin.h"

namespace sky::plugins {

class Conformance final : public framework::Plugin {
 public:
  std::string_view name() const override { return "conformance"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();
};

}  // namespace sky::plugins
