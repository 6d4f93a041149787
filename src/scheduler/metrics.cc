// SPDX-License-Identifier: Apache-2.0
#include "scheduler/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>

namespace sky::scheduler {

struct Metrics::Families {
  prometheus::Registry registry;
  prometheus::Gauge& leading;
  prometheus::Counter& cycles;
  prometheus::Histogram& cycle_seconds;
  prometheus::Counter& bound;
  prometheus::Counter& committed;
  prometheus::Counter& refused;
  prometheus::Counter& pictures;
  prometheus::Counter& healed;
  prometheus::Gauge& queued;
  prometheus::Gauge& in_flight;
  prometheus::Gauge& partial;
  prometheus::Family<prometheus::Gauge>& waiting;
  std::map<std::string, prometheus::Gauge*> waiting_by_reason;
  SchedulerStats seen;
  uint64_t pictures_seen = 0, healed_seen = 0;

  prometheus::Counter& Count(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }
  prometheus::Gauge& Measure(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }

  Families()
      : leading(Measure("sky_leading", "1 while this process holds the lease")),
        cycles(Count("sky_cycles_total", "Scheduling cycles run")),
        cycle_seconds(
            prometheus::BuildHistogram()
                .Name("sky_cycle_duration_seconds")
                .Help("Time of one cycle, from snapshot to the last commit")
                .Register(registry)
                .Add({}, prometheus::Histogram::BucketBoundaries{0.0001, 0.001, 0.005, 0.02, 0.05,
                                                                 0.1, 0.25, 1, 5})),
        bound(Count("sky_pods_bound_total", "Pods bound")),
        committed(Count("sky_rounds_committed_total", "Rounds of gangs decided")),
        refused(Count("sky_rounds_refused_total", "Rounds or members that the API refused")),
        pictures(Count("sky_quota_status_writes_total", "Quota statuses written")),
        healed(Count("sky_quota_heals_total",
                     "Quota statuses corrected because live pods contradict them")),
        queued(Measure("sky_bindings_queued", "Bindings that wait to be sent")),
        in_flight(Measure("sky_bindings_in_flight", "Bindings sent and not answered")),
        partial(Measure("sky_gangs_partial",
                        "Gangs of which some members run and others have been missing for longer "
                        "than startTimeout")),
        waiting(prometheus::BuildGauge()
                    .Name("sky_jobs_waiting")
                    .Help("Jobs that wait, by main reason")
                    .Register(registry)) {}
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::Update(const Scheduler& scheduler, bool leads) {
  Families& out = *families_;
  const SchedulerStats& now = scheduler.stats();
  out.leading.Set(leads ? 1 : 0);
  if (now.cycles > out.seen.cycles) out.cycle_seconds.Observe(Seconds(now.last_cycle));
  out.cycles.Increment(static_cast<double>(now.cycles - out.seen.cycles));
  out.bound.Increment(static_cast<double>(now.bound - out.seen.bound));
  out.committed.Increment(static_cast<double>(now.committed - out.seen.committed));
  out.refused.Increment(static_cast<double>(now.refused - out.seen.refused));
  out.seen = now;
  out.pictures.Increment(static_cast<double>(scheduler.pictures().written() - out.pictures_seen));
  out.healed.Increment(static_cast<double>(scheduler.pictures().healed() - out.healed_seen));
  out.pictures_seen = scheduler.pictures().written();
  out.healed_seen = scheduler.pictures().healed();
  out.queued.Set(static_cast<double>(scheduler.executor().queued()));
  out.in_flight.Set(static_cast<double>(scheduler.executor().in_flight()));
  out.partial.Set(static_cast<double>(scheduler.reporter().partial()));
  const std::map<std::string, int> waiting = scheduler.reporter().WaitingByReason();
  // A reason that nobody has any more leaves no series behind.
  std::erase_if(out.waiting_by_reason, [&](const auto& item) {
    if (waiting.contains(item.first)) return false;
    out.waiting.Remove(item.second);
    return true;
  });
  for (const auto& [reason, count] : waiting) {
    prometheus::Gauge*& gauge = out.waiting_by_reason[reason];
    if (gauge == nullptr) gauge = &out.waiting.Add({{"reason", reason}});
    gauge->Set(count);
  }
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer{}.Serialize(families_->registry.Collect());
}

}  // namespace sky::scheduler
