// SPDX-License-Identifier: Apache-2.0
#include "load/live.h"

#include <utility>

namespace sky::load {
namespace {

kube::ReflectorOptions MadeIn(std::string ns) {
  kube::ReflectorOptions options;
  options.ns = std::move(ns);
  options.label_selector = kMadeSelector;
  return options;
}

}  // namespace

Live::Live(kube::Client& client, const std::string& ns, const Layout& layout)
    : loop_(client.loop()),
      with_quotas_(layout.per_quota > 0),
      state_{Meter(layout), false, false, false, {}, std::nullopt},
      pods_(client, MadeIn(ns),
            {.on_delta = [this](const api::Delta<api::Pod>& delta) { OnPod(delta); },
             .on_synced = [this] { Change([](State&, MonoTime) {}); },
             .on_bad =
                 [this](const std::string& key, const std::optional<kube::BadItem>& bad) {
                   Change([&](State& state, MonoTime) {
                     if (bad) state.bad = key + ": " + bad->error.message();
                   });
                 }}),
      quotas_(client, MadeIn(""),
              {.on_delta = [this](const api::Delta<api::Quota>& delta) { OnQuota(delta); },
               .on_synced = [this] { Change([](State&, MonoTime) {}); },
               .on_bad =
                   [this](const std::string& key, const std::optional<kube::BadItem>& bad) {
                     Change([&](State& state, MonoTime) {
                       if (bad) state.bad = key + ": " + bad->error.message();
                     });
                   }}) {}

void Live::Start() {
  pods_.Start();
  if (with_quotas_) quotas_.Start();
}

void Live::Change(const std::function<void(State&, MonoTime)>& change) {
  const MonoTime now = loop_.Now();
  const std::lock_guard lock(mutex_);
  change(state_, now);
  state_.synced = pods_.HasSynced() && (!with_quotas_ || quotas_.HasSynced());
  if (until_ != nullptr && (state_.bad || (*until_)(state_))) changed_.notify_all();
}

void Live::OnPod(const api::Delta<api::Pod>& delta) {
  const bool gone = delta.type == api::Delta<api::Pod>::Type::kDelete;
  Change([&](State& state, MonoTime now) {
    if (delta.object->metadata.name == kProbe) {
      state.probe_there = !gone;
      state.probe_bound = !gone && !delta.object->spec.node_name.empty();
      state.probe_says = WhyUnscheduled(*delta.object);
    } else if (gone) {
      state.meter.Gone(*delta.object);
    } else {
      state.meter.Seen(*delta.object, now);
    }
  });
}

void Live::OnQuota(const api::Delta<api::Quota>& delta) {
  const bool gone = delta.type == api::Delta<api::Quota>::Type::kDelete;
  Change([&](State& state, MonoTime now) {
    if (gone)
      state.meter.Gone(*delta.object, now);
    else
      state.meter.Seen(*delta.object, now);
  });
}

void Live::Creating(size_t pod) {
  const MonoTime now = loop_.Now();
  const std::lock_guard lock(mutex_);
  state_.meter.Creating(pod, now);
}

bool Live::WaitFor(const Until& until, Duration most) {
  std::unique_lock lock(mutex_);
  until_ = &until;
  const bool so =
      changed_.wait_for(lock, most, [&] { return state_.bad.has_value() || until(state_); });
  until_ = nullptr;
  return so && !state_.bad;
}

}  // namespace sky::load
