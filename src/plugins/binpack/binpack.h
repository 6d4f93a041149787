// SPDX-License-Identifier: Apache-2.0
// binpack: prefers nodes that are already full, by the share that is committed there of what the
// subject asks: bound and planned quotas and pods of others (hop 2), or all pods (direct
// placement). Every requested name counts; weights by name. How much binpack itself weighs is the
// expression's to say: sum(binpack*3, …).
#pragma once

#include <map>

#include "framework/plugin.h"
#include "model/cluster.h"

namespace sky::plugins {

class Binpack final : public framework::Plugin {
 public:
  explicit Binpack(const std::map<std::string, int64_t>& weights)
      : weights_(weights.begin(), weights.end()) {}
  std::string_view name() const override { return "binpack"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

 private:
  // 0…100: Σ w·(used + request)/allocatable over the requested names, / Σ w; 0 when something
  // doesn't fit.
  int64_t Score(const model::Cluster& cluster, const model::Resources& request,
                const model::Resources& used, const model::Resources& allocatable) const;

  std::map<std::string, int64_t, std::less<>> weights_;  // by resource name; 1 where none is given
};

}  // namespace sky::plugins
