// SPDX-License-Identifier: Apache-2.0
// binpack: prefers nodes that are already full, by the share that their bound quotas (hop 2) or
// pods (direct placement) take of what the subject asks. Every requested name counts; weights by
// name.
#pragma once

#include <map>

#include "framework/plugin.h"
#include "model/cluster.h"

namespace sky::plugins {

class Binpack final : public framework::Plugin {
 public:
  Binpack(int64_t weight, std::map<std::string, int64_t> weights)
      : weight_(weight), weights_(std::move(weights)) {}
  std::string_view name() const override { return "binpack"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

 private:
  // 0…100: Σ w·(used + request)/allocatable over the requested names, / Σ w; 0 when something
  // doesn't fit.
  int64_t Score(const model::Cluster& cluster, const model::Resources& request,
                const model::Resources& used, const model::Resources& allocatable) const;

  int64_t weight_;
  std::map<std::string, int64_t> weights_;  // by resource name; 1 where none is given
};

}  // namespace sky::plugins
