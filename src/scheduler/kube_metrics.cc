// SPDX-License-Identifier: Apache-2.0
#include "scheduler/kube_metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>

namespace sky::scheduler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Durations(const kube::RequestStats::Snapshot& now) {
  MetricFamily family{"sky_kube_request_duration_seconds",
                      "Requests to the API server, waiting for a connection included; of a watch, "
                      "how long it lasted",
                      MetricType::Histogram,
                      {}};
  for (const auto& [outcome, times] : now.requests) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = {
        {"verb", outcome.kind.verb}, {"resource", outcome.kind.resource}, {"code", outcome.code}};
    metric.histogram.sample_count = times.count;
    metric.histogram.sample_sum = times.seconds;
    for (size_t i = 0; i < times.within.size(); ++i)
      metric.histogram.bucket.push_back({times.within[i], kube::RequestStats::kBounds[i]});
    metric.histogram.bucket.push_back({times.count, std::numeric_limits<double>::infinity()});
  }
  return family;
}

MetricFamily Repeats(const kube::RequestStats::Snapshot& now) {
  MetricFamily family{"sky_kube_request_repeats_total",
                      "Requests that were sent again: cut off, or told to come later",
                      MetricType::Counter,
                      {}};
  for (const auto& [kind, count] : now.repeats) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = {{"verb", kind.verb}, {"resource", kind.resource}};
    metric.counter.value = static_cast<double>(count);
  }
  return family;
}

MetricFamily OfFeeds(const Feeds& feeds, const char* name, const char* help,
                     std::atomic<uint64_t> kube::ReflectorStats::* number) {
  MetricFamily family{name, help, MetricType::Counter, {}};
  for (const auto& [resource, stats] : feeds.stats()) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = {{"resource", resource}};
    metric.counter.value = static_cast<double>((stats->*number).load());
  }
  return family;
}

}  // namespace

std::string KubeMetricsText(const kube::RequestStats& requests, const Feeds& feeds) {
  using Stats = kube::ReflectorStats;
  const kube::RequestStats::Snapshot now = requests.Read();
  return prometheus::TextSerializer{}.Serialize(
      {Durations(now), Repeats(now),
       OfFeeds(feeds, "sky_informer_lists_total", "Lists begun", &Stats::lists),
       OfFeeds(feeds, "sky_informer_watches_total", "Watches begun", &Stats::watches),
       OfFeeds(feeds, "sky_informer_relists_total", "Lists because a watch couldn't go on",
               &Stats::relists),
       OfFeeds(feeds, "sky_informer_events_total", "Events that watches brought", &Stats::events),
       OfFeeds(feeds, "sky_informer_errors_total", "Lists and watches that failed",
               &Stats::errors)});
}

}  // namespace sky::scheduler
