// SPDX-License-Identifier: Apache-2.0
#include "load/report.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace sky::load {
namespace {

using Json = nlohmann::ordered_json;

// Milliseconds of a second are what the meter can tell; more digits would only look exact.
double Rounded(double value) { return std::round(value * 1000) / 1000; }

std::optional<double> CpuPerPod(const Report& report) {
  if (!report.use || report.reading.bound == 0) return std::nullopt;
  return Seconds(report.use->cpu) * 1000 / static_cast<double>(report.reading.bound);
}

double Mebibytes(int64_t kib) { return static_cast<double>(kib) / 1024; }

Json OrNull(const std::optional<double>& value) { return value ? Json(Rounded(*value)) : Json(); }
Json OrNull(const std::optional<Duration>& span) {
  return span ? Json(Rounded(Seconds(*span))) : Json();
}
Json OrNull(const std::optional<Spread>& spread) {
  if (!spread) return {};
  return {{"p50", Rounded(Seconds(spread->p50))}, {"p99", Rounded(Seconds(spread->p99))}};
}

class Lines {
 public:
  void Add(std::string_view what, const std::string& value) {
    text_ += fmt::format("  {:<22}{}\n", what, value);
  }
  void Add(std::string_view what, const std::optional<Duration>& span) {
    if (span) Add(what, fmt::format("{:.3f} s", Seconds(*span)));
  }
  void Add(std::string_view what, const std::optional<double>& rate) {
    if (rate) Add(what, fmt::format("{:.1f} /s, first to last", *rate));
  }
  void Add(std::string_view what, const std::optional<Spread>& spread) {
    if (spread)
      Add(what,
          fmt::format("p50 {:.3f} s, p99 {:.3f} s", Seconds(spread->p50), Seconds(spread->p99)));
  }
  std::string text_;
};

}  // namespace

std::string ToText(const Report& report) {
  const Reading& reading = report.reading;
  Lines lines;
  lines.text_ =
      fmt::format("{}: {} pods in {} gangs of {} on {} nodes, by {}\n", ModeName(report.mode),
                  reading.pods, reading.gangs, report.gang_size, report.nodes, report.scheduler);
  lines.Add("bound", fmt::format("{} of {} pods, {} of {} gangs", reading.bound, reading.pods,
                                 reading.gangs_bound, reading.gangs));
  lines.Add("creations", reading.creations_per_second);
  lines.Add("bindings", reading.bindings_per_second);
  lines.Add("start to first bind", reading.first_bind);
  lines.Add("start to last bind", reading.last_bind);
  lines.Add("pod create to bind", reading.pod_latency);
  lines.Add("gang create to bind", reading.gang_latency);
  lines.Add("quotas caught up", reading.quotas_caught_up);
  if (reading.gangs_across_leaves)
    lines.Add("gangs across leaves", fmt::format("{}", *reading.gangs_across_leaves));
  if (report.use) {
    lines.Add("scheduler CPU", fmt::format("{:.2f} s, {:.3f} ms a pod", Seconds(report.use->cpu),
                                           CpuPerPod(report).value_or(0)));
    lines.Add("scheduler memory",
              fmt::format("{:.1f} MiB at most", Mebibytes(report.use->peak_memory_kib)));
  }
  for (const std::string& problem : reading.problems) lines.Add("wrong", problem);
  std::multimap<size_t, std::string_view, std::greater<>> said;  // the most first
  for (const auto& [message, count] : report.unbound) said.emplace(count, message);
  for (const auto& [count, message] : said)
    lines.Add("unbound", fmt::format("{} × {}", count, message));
  return lines.text_;
}

std::string ToJson(const Report& report) {
  const Reading& reading = report.reading;
  Json json;
  json["mode"] = ModeName(report.mode);
  json["scheduler"] = report.scheduler;
  json["nodes"] = report.nodes;
  json["pods"] = reading.pods;
  json["podsBound"] = reading.bound;
  json["gangSize"] = report.gang_size;
  json["gangs"] = reading.gangs;
  json["gangsBound"] = reading.gangs_bound;
  json["creationsPerSecond"] = OrNull(reading.creations_per_second);
  json["bindingsPerSecond"] = OrNull(reading.bindings_per_second);
  json["startToFirstBindSeconds"] = OrNull(reading.first_bind);
  json["startToLastBindSeconds"] = OrNull(reading.last_bind);
  json["podCreateToBindSeconds"] = OrNull(reading.pod_latency);
  json["gangCreateToBindSeconds"] = OrNull(reading.gang_latency);
  json["quotasCaughtUpSeconds"] = OrNull(reading.quotas_caught_up);
  json["gangsAcrossLeaves"] =
      reading.gangs_across_leaves ? Json(*reading.gangs_across_leaves) : Json();
  json["schedulerCpuSeconds"] = report.use ? Json(Rounded(Seconds(report.use->cpu))) : Json();
  json["schedulerCpuMsPerPod"] = OrNull(CpuPerPod(report));
  json["schedulerPeakMemoryMiB"] =
      report.use ? Json(Rounded(Mebibytes(report.use->peak_memory_kib))) : Json();
  json["problems"] = reading.problems;
  json["unbound"] = Json::object();
  for (const auto& [message, count] : report.unbound) json["unbound"][message] = count;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sky::load
