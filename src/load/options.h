// SPDX-License-Identifier: Apache-2.0
// What `skyctl load` is asked to do, and what it refuses to do: fake nodes beside real ones, a
// second run on top of the first, pods that can't fit. Pure; the command line fills it in.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "base/clock.h"
#include "base/result.h"

namespace sky::load {

enum class Mode {
  kDrain,   // the pods wait, then the scheduler is started
  kBurst,   // the scheduler runs, then pods come as fast as they can be created
  kRate,    // the same at so many pods a second
  kDirect,  // no scheduler: the bindings are written from here
  kClean,   // only removes what an earlier run left
};
std::string_view ModeName(Mode mode);

struct Shape {
  int nodes = 100, gpus_per_node = 8, nodes_per_leaf = 16;
  int pods = 800, gang = 32;
  int per_quota = 1;   // pods that a quota has room for
  bool groups = true;  // PodGroups, quotas and topology, as sky-scheduler wants them
  std::string scheduler = "sky-scheduler", ns = "sky-load";
};

struct Options {
  Mode mode = Mode::kDrain;
  std::string kubeconfig;
  Shape shape;
  double rate = 100;  // pods a second
  int in_flight = 32;
  Duration timeout = std::chrono::minutes(5);
  bool make_nodes = true, clean = false, keep = false;
  std::vector<std::string> command;  // of the scheduler; empty: it runs already
  std::string scheduler_log = "/dev/null";
};

// What stands in the cluster before the run.
struct Survey {
  std::map<std::string, size_t> made;  // kind → objects that an earlier run left
  std::vector<api::Node> others;       // nodes that no run made
};

// kInvalid, with what to do instead: the command line is wrong.
Status CheckOptions(const Options& options);
// The same for this cluster.
Status CheckSurvey(const Options& options, const Survey& survey);

}  // namespace sky::load
