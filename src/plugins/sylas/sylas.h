// SPDX-License-Identifier: Apache-2.0
// sylas: spot pods. They go to nodes without a quota, into the pool of their kind; whoever has a
// quota may take their room, from exclusive ones of the node where it starts. Which of them leave
// is chosen by four weighted strategies, and what that costs counts against a node.
#pragma once

#include "framework/plugin.h"
#include "framework/session.h"
#include "plugins/sylas/victims.h"

namespace sky::plugins {

class Sylas final : public framework::Plugin {
 public:
  explicit Sylas(Strategies strategies) : strategies_(strategies) {}
  std::string_view name() const override { return "sylas"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

 private:
  using Victims = framework::Session::Victims;
  std::optional<Victims> PredictEvicted(const framework::Session& session, model::TaskId task,
                                        model::NodeId node, const model::Resources& missing,
                                        const Victims& leaving) const;
  int64_t Score(const framework::Session& session, model::TaskId task, model::NodeId node) const;
  const Strategies strategies_;
};

}  // namespace sky::plugins
