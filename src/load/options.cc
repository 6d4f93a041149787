// SPDX-License-Identifier: Apache-2.0
#include "load/options.h"

#include <fmt/ranges.h>

#include "api/names.h"

namespace sky::load {

std::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kDrain:
      return "drain";
    case Mode::kBurst:
      return "burst";
    case Mode::kRate:
      return "rate";
    case Mode::kDirect:
      return "direct";
    case Mode::kClean:
      return "clean";
  }
  return "?";
}

Status CheckOptions(const Options& options) {
  const Shape& shape = options.shape;
  if (options.mode == Mode::kDrain && options.command.empty())
    return Fail(Code::kInvalid,
                "drain starts the scheduler once the pods wait: end the line with its command, "
                "-- sky-scheduler --kubeconfig FILE (for one that runs already there is burst)");
  if (options.mode == Mode::kDirect && !options.command.empty())
    return Fail(Code::kInvalid, "direct binds the pods itself: leave out the command behind --");
  if (options.mode == Mode::kClean) return {};
  if (shape.scheduler == "sky-scheduler" && !shape.groups)
    return Fail(Code::kInvalid,
                "sky-scheduler places pods through quotas and gangs through their PodGroups, and "
                "--groups none makes neither: leave --groups out (for another scheduler's pods "
                "there is --scheduler NAME)");
  if (shape.gang > shape.pods)
    return Fail(Code::kInvalid,
                "--pods {} makes no gang of --gang {}: at least --pods {}, or at most --gang {}",
                shape.pods, shape.gang, shape.gang, shape.pods);
  if (!api::IsDnsLabel(shape.ns))
    return Fail(Code::kInvalid, "--namespace \"{}\" can't be the name of a namespace", shape.ns);
  if (!api::IsDnsSubdomain(shape.scheduler))
    return Fail(Code::kInvalid, "--scheduler \"{}\" can't be the name of a scheduler",
                shape.scheduler);
  if (shape.gpus_per_node % shape.per_quota != 0)
    return Fail(Code::kInvalid,
                "quotas of {} pods don't fill nodes of {} GPUs: let --gpus-per-node be a multiple "
                "of --per-quota",
                shape.per_quota, shape.gpus_per_node);
  const int64_t room = int64_t{shape.nodes} * shape.gpus_per_node;
  if (options.make_nodes && shape.pods > room)
    return Fail(Code::kInvalid,
                "{} pods of one GPU each don't fit on {} nodes of {}: at most --pods {}",
                shape.pods, shape.nodes, shape.gpus_per_node, room);
  return {};
}

Status CheckSurvey(const Options& options, const Survey& survey) {
  if (!survey.made.empty()) {
    std::vector<std::string> left;
    for (const auto& [kind, count] : survey.made) left.push_back(fmt::format("{} {}", count, kind));
    return Fail(Code::kInvalid,
                "an earlier run left objects here ({}): --clean removes them first, and skyctl "
                "load clean does nothing else",
                fmt::join(left, ", "));
  }
  if (options.make_nodes && !survey.others.empty())
    return Fail(
        Code::kInvalid,
        "this cluster has nodes of its own ({}{}): made-up nodes beside them would draw "
        "real pods, so none are made. Use an empty cluster, or --no-nodes to load the "
        "nodes that are there",
        survey.others.front().metadata.name,
        survey.others.size() == 1 ? "" : fmt::format(" and {} more", survey.others.size() - 1));
  if (!options.make_nodes && survey.others.empty())
    return Fail(Code::kInvalid, "there are no nodes to load: leave out --no-nodes");
  return {};
}

}  // namespace sky::load
