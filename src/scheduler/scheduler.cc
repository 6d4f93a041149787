// SPDX-License-Identifier: Apache-2.0
// When cycles run, and what happens around one; recovery stands in recovery.cc.
#include "scheduler/scheduler.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/log.h"

namespace sky::scheduler {

using cache::Effect;

Scheduler::Scheduler(kube::Loop& loop, std::unique_ptr<framework::Engine> engine,
                     cache::ClusterWriter& writer, const Leadership& leadership, Worker worker)
    : loop_(loop),
      engine_(std::move(engine)),
      writer_(writer),
      leadership_(leadership),
      worker_(std::move(worker)),
      names_(std::make_shared<model::Names>()),
      cache_(names_, framework::SettingsOf(engine_->config())),
      snapshot_(names_),
      executor_(loop, cache_, writer,
                {engine_->config().commit_order, engine_->config().claim_timeout}, MakeEvents()),
      pictures_(
          loop, cache_, writer, engine_->config().min_fix_quota_interval,
          [this] { return MayWrite(); }, [this] { return executor_.queued() > 0; }),
      queue_pictures_(
          loop, cache_, writer, [this] { return MayWrite(); },
          [this] { return executor_.queued() > 0; }),
      backoffs_(loop, cache_, [this] { Noticed(Effect::kRelevant); }),
      reporter_(loop, cache_, writer, *names_, engine_->config().start_timeout,
                [this] { return MayWrite(); }),
      member_words_(
          loop, writer, [this] { return MayWrite(); }, [this] { return executor_.queued() > 0; }),
      diagnoses_(*names_, reporter_) {}

Scheduler::~Scheduler() = default;

ExecutorEvents Scheduler::MakeEvents() {
  ExecutorEvents events;
  events.bound = [this](const cache::RoundEntry& entry, const cache::Round& round) {
    ++stats_.bound;
    backoffs_.Forget(round.job);
    reporter_.Bound(entry, round);
    pictures_.Poke();
  };
  events.refused = [this](const cache::Round& round, const cache::RoundEntry* entry,
                          model::Reason reason, const std::string& why) {
    ++stats_.refused;
    reporter_.Refused(round, entry, reason, why);
    backoffs_.Failed(round, reason, why);
  };
  events.in_vain = [this](const cache::Round& round, const std::vector<std::string>& nodes) {
    backoffs_.WaitedInVain(round.job, nodes);
  };
  events.evicted = [this](const cache::Eviction::Victim& victim, const std::string& why) {
    ++stats_.evicted;
    reporter_.Evicted(victim, why);
  };
  events.delayed = [this](const cache::Round& round, std::string_view what,
                          const std::string& why) { reporter_.Delayed(round, what, why); };
  events.replan = [this] { Noticed(Effect::kRelevant); };
  events.may_write = [this] { return MayWrite(); };
  events.epoch = [this] { return leadership_.epoch(); };
  events.write_pictures = [this](const cache::Round& round, std::function<void(Status)> done) {
    pictures_.WriteNow(round, std::move(done));
  };
  return events;
}

bool Scheduler::MayWrite() const {
  return Active() && leadership_.leading() && leadership_.WriteTimeout().has_value();
}

bool Scheduler::Idle() const {
  return !running_ && executor_.Idle() && pictures_.in_flight() == 0 &&
         queue_pictures_.in_flight() == 0 && reporter_.Idle() && member_words_.in_flight() == 0;
}

void Scheduler::OnSynced() {
  synced_ = true;
  KeepUp();
  Begin();
}

void Scheduler::OnVolumes(const model::VolumeChange& change) {
  cache_.SetNow(loop_.clock().Now());
  Noticed(cache_.Apply(change));
  executor_.VolumesChanged();
}

// What changes is listed for the next snapshot. Who doesn't lead runs no cycles and takes one all
// the same: its memory doesn't grow, and its first cycle begins at once.
void Scheduler::KeepUp() {
  constexpr Duration kEvery = std::chrono::seconds(10);
  loop_.RunAfter(kEvery, alive_.Guard([this] {
    if (stopped_) return;
    if (!leading_ && !running_) cache_.UpdateSnapshot(snapshot_);
    KeepUp();
  }));
}

void Scheduler::OnLeadership(bool leading) {
  leading_ = leading;
  if (leading) return Begin();
  executor_.Abandon();
  diagnoses_.Forget();
}

void Scheduler::Stop() {
  stopped_ = true;
  executor_.Stop();
  if (timer_ != 0) loop_.Cancel(timer_);
  if (loss_timer_ != 0) loop_.Cancel(loss_timer_);
  if (kept_timer_ != 0) loop_.Cancel(kept_timer_);
  timer_ = loss_timer_ = kept_timer_ = 0;
}

void Scheduler::Begin() {
  if (!Active()) return;
  MakeDefaultQueue();
  cache_.SetNow(loop_.clock().Now());
  cache_.AdoptReservations();
  AdoptAll();
  executor_.Resume();
  AskForGroups(true);
  WatchLosses();
  pictures_.Poke();
  queue_pictures_.Poke();
  ScheduleCycle(Duration::zero());
}

void Scheduler::Noticed(Effect effect) {
  if (effect == Effect::kNothing || !Active()) return;
  pictures_.Poke();
  queue_pictures_.Poke();
  if (effect != Effect::kRelevant) return;
  ReadStaleGroups();
  WatchLosses();
  // The first unhandled event sets the moment; later ones don't postpone it (F51).
  ScheduleCycle(engine_->config().batch_delay);
}

void Scheduler::ScheduleCycle(Duration wait) {
  if (!Active()) return;
  if (running_) {
    again_ = true;
    return;
  }
  const MonoTime at = loop_.Now() + wait;
  if (timer_ != 0 && timer_at_ <= at) return;
  if (timer_ != 0) loop_.Cancel(timer_);
  timer_at_ = at;
  timer_ = loop_.RunAt(at, alive_.Guard([this] {
    timer_ = 0;
    RunCycle();
  }));
}

void Scheduler::Use(std::unique_ptr<framework::Engine> engine) {
  next_engine_ = std::move(engine);
  if (running_) return;  // the cycle that is under way is still the old one's
  engine_ = std::move(next_engine_);
  WatchLosses();
  ScheduleCycle(engine_->config().batch_delay);
}

void Scheduler::CycleNow() {
  if (timer_ != 0) loop_.Cancel(timer_);
  timer_ = 0;
  RunCycle();
}

void Scheduler::RunCycle() {
  if (!Active() || running_ || !asking_.empty() || unread_ > 0) return;
  running_ = true;
  again_ = false;
  const uint64_t cycle = ++cycle_;
  const Instant now = loop_.clock().Now();
  cache_.SetNow(now);
  worker_([this, cycle, now] {
    const MonoTime began = loop_.Now();
    framework::CycleResult result = Work(cycle, now);
    const Duration took = loop_.Now() - began;
    loop_.Post(
        alive_.Guard([this, result = std::move(result), took] { FinishCycle(result, took); }));
  });
}

framework::CycleResult Scheduler::Work(uint64_t cycle, Instant now) {
  SetLogCycle(cycle);
  cache_.RefuseOverbound();
  renewed_ = cache_.UpdateSnapshot(snapshot_);
  return engine_->Run(snapshot_, now, cycle, [this](cache::Round& round) {
    auto number = cache_.Assume(round, snapshot_);
    if (number) loop_.Post(alive_.Guard([this, round] { executor_.Submit(round); }));
    return number;
  });
}

void Scheduler::FinishCycle(const framework::CycleResult& result, Duration took) {
  running_ = false;
  ++stats_.cycles;
  stats_.committed += result.committed.size();
  stats_.last_cycle = took;
  stats_.longest_cycle = std::max(stats_.longest_cycle, took);
  for (const cache::GivenUp& places : result.given_up) executor_.GiveUp(places);
  for (const cache::Eviction& eviction : result.evictions) executor_.Evict(eviction);
  executor_.ClearStrayChoices();
  bool again = result.conflicted;
  for (const uint64_t round : result.approved) {
    if (cache_.Approve(round, snapshot_))
      executor_.Approve(round);
    else
      again = true;
  }
  for (const cache::Round& round : result.committed)
    spdlog::info("job {}: {} members decided, round {}", round.job, round.entries.size(),
                 round.number);
  reporter_.Cycle(snapshot_, result);
  member_words_.Cycle(snapshot_, result);
  if (leading_) diagnoses_.Cycle(snapshot_, result, cycle_, renewed_);
  for (const cache::Complaint& complaint : cache_.TakeComplaints()) reporter_.Complain(complaint);
  if (!result.unread.empty()) AskForGroups(false, result.unread);
  pictures_.Poke();
  WatchReservations();
  queue_pictures_.Poke();
  if (after_cycle) after_cycle(result);
  if (next_engine_) Use(std::move(next_engine_));
  const auto& config = engine_->config();
  Duration wait = result.unfinished ? Duration::zero()
                  : again || again_ ? config.batch_delay
                                    : config.period;
  if (result.next_reconcile && wait > config.batch_delay)
    wait = std::clamp<Duration>(*result.next_reconcile - loop_.clock().Wall(), config.batch_delay,
                                wait);
  ScheduleCycle(wait);
}

void Scheduler::ReadStaleGroups() {
  if (reading_) return;
  reading_ = true;
  // A moment for the rest of the gang to arrive: one read serves all of it.
  loop_.RunAfter(std::chrono::milliseconds(5), alive_.Guard([this] {
    reading_ = false;
    if (Active()) AskForGroups(false);
  }));
}

// `first`: of gangs that came before we were synced. Until they are known, for a second at most, no
// cycle runs: the first in order couldn't be planned, and others would take what was kept for it.
void Scheduler::AskForGroups(bool first, const std::vector<std::string>& also) {
  const std::vector<cache::StaleGroup> stale = cache_.TakeStaleGroups(also);
  if (first) unread_ = stale.size();
  if (unread_ > 0 && first)
    loop_.RunAfter(std::chrono::seconds(1), alive_.Guard([this] { GroupsRead(unread_); }));
  for (const cache::StaleGroup& group : stale)
    writer_.GetPodGroup(group.namespace_, group.name,
                        alive_.Guard([this, group, first](Result<api::PodGroup> answer) {
                          if (answer)
                            Noticed(cache_.ConfirmGroup(
                                group, std::make_shared<const api::PodGroup>(std::move(*answer))));
                          else if (answer.error().code() == Code::kNotFound)
                            Noticed(cache_.ConfirmGroup(group, nullptr));
                          else
                            ReadAgain(group, answer.error());
                          if (first) GroupsRead(1);
                        }));
}

void Scheduler::ReadAgain(const cache::StaleGroup& group, const Error& error) {
  spdlog::warn("PodGroup {} can't be read: {}", group.key, error.message());
  cache_.ReadFailed(group);
  loop_.RunAfter(std::chrono::seconds(1), alive_.Guard([this] { ReadStaleGroups(); }));
}

// So many of those that the first cycle waits for are known, or have had their time.
void Scheduler::GroupsRead(size_t groups) {
  if (unread_ == 0) return;
  unread_ -= std::min(unread_, groups);
  if (unread_ == 0) ScheduleCycle(Duration::zero());
}

void Scheduler::WatchLosses() {
  const auto next =
      cache_.NextLoss(engine_->config().node_lost_after, engine_->config().static_grace);
  if (!next || (loss_timer_ != 0 && loss_at_ <= *next)) return;
  if (loss_timer_ != 0) loop_.Cancel(loss_timer_);
  loss_at_ = *next;
  const Duration wait = std::max<Duration>(*next - loop_.Now(), Duration::zero());
  loss_timer_ = loop_.RunAfter(wait, alive_.Guard([this] {
    loss_timer_ = 0;
    cache_.SetNow(loop_.clock().Now());
    Noticed(
        cache_.MarkLostNodes(engine_->config().node_lost_after, engine_->config().static_grace));
    WatchLosses();
  }));
}

// What is kept for lost members ends by itself: who waits for it shouldn't wait for the next cycle.
void Scheduler::WatchReservations() {
  const WallTime next = cache_.NextReservation();
  if (next == WallTime::max()) return;
  const MonoTime at =
      loop_.Now() + std::max<Duration>(next - loop_.clock().Wall(), Duration::zero());
  if (kept_timer_ != 0 && kept_timer_at_ <= at) return;
  if (kept_timer_ != 0) loop_.Cancel(kept_timer_);
  kept_timer_at_ = at;
  kept_timer_ = loop_.RunAt(at, alive_.Guard([this] {
    kept_timer_ = 0;
    if (!Active()) return;
    cache_.SetNow(loop_.clock().Now());
    Noticed(Effect::kRelevant);
  }));
}

}  // namespace sky::scheduler
