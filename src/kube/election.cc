// SPDX-License-Identifier: Apache-2.0
#include "kube/election.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "api/names.h"

namespace sky::kube {
namespace {

using std::chrono::seconds;

constexpr Duration kMostWriteTime = seconds(4);
constexpr Duration kWriteMargin = seconds(1);
constexpr Duration kLeastGap = seconds(5);  // the two above, together
constexpr double kJitter = 1.2;

}  // namespace

Status CheckElectionOptions(const ElectionOptions& options) {
  // As the API server would: it refuses others each time they are tried.
  if (!api::IsDnsLabel(options.ns))
    return Fail(Code::kInvalid,
                "the lease's namespace must be 1 to 63 lower case letters, digits and '-', "
                "beginning and ending with a letter or digit (an RFC 1123 label), not \"{}\"",
                options.ns);
  if (!api::IsDnsSubdomain(options.name))
    return Fail(Code::kInvalid,
                "the lease's name must be 1 to 253 lower case letters, digits, '-' and '.', each "
                "part beginning and ending with a letter or digit (an RFC 1123 subdomain), not "
                "\"{}\"",
                options.name);
  if (options.identity.empty())
    return Fail(Code::kInvalid, "the lease needs the identity of the process");
  if (options.lease_duration % seconds(1) != Duration::zero())
    return Fail(Code::kInvalid, "leaseDuration {} must be in whole seconds",
                FormatDuration(options.lease_duration));
  if (options.renew_deadline + kLeastGap > options.lease_duration)
    return Fail(
        Code::kInvalid,
        "leaseDuration {} must be at least 5s longer than renewDeadline {}, so that writes of the "
        "old leader have ended before another begins",
        FormatDuration(options.lease_duration), FormatDuration(options.renew_deadline));
  if (options.retry_period <= Duration::zero() ||
      options.retry_period * 6 / 5 >= options.renew_deadline)
    return Fail(Code::kInvalid, "renewDeadline {} must be longer than 1.2 times retryPeriod {}",
                FormatDuration(options.renew_deadline), FormatDuration(options.retry_period));
  return {};
}

Election::Election(Client& client, ElectionOptions options, ElectionCallbacks callbacks)
    : client_(client),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      rng_(options_.seed) {}

Election::~Election() {
  client_.loop().Cancel(attempt_timer_);
  client_.loop().Cancel(deadline_timer_);
}

void Election::Start() {
  client_.loop().Post(lifeline_.Guard([this] { Attempt(); }));
}

std::optional<int64_t> Election::Epoch() const {
  const std::lock_guard lock(mutex_);
  return term_ ? std::optional(term_->epoch) : std::nullopt;
}

std::optional<MonoTime> Election::LeaseDeadline() const {
  const std::lock_guard lock(mutex_);
  return term_ ? std::optional(term_->renewed_at + options_.lease_duration) : std::nullopt;
}

std::optional<Duration> Election::WriteTimeout(MonoTime now) const {
  const std::lock_guard lock(mutex_);
  if (!term_ || now >= term_->renewed_at + options_.renew_deadline) return std::nullopt;
  const Duration left = term_->renewed_at + options_.lease_duration - kWriteMargin - now;
  if (left <= Duration::zero()) return std::nullopt;
  return std::min(kMostWriteTime, left);
}

// Half of the renew deadline, so that a call that hangs leaves time for a second one.
CallOptions Election::Call() const {
  return {.timeout = options_.renew_deadline / 2, .urgency = Urgency::kLease};
}

void Election::Attempt() {
  attempting_ = true;
  attempt_began_ = Now();
  from_memory_ = leading() && !must_read_;
  if (from_memory_)
    Write(Claim(/*new_term=*/false), /*new_term=*/false);
  else
    Read();
}

void Election::Read() {
  client_.Get<api::Lease>(
      options_.ns, options_.name, Call(),
      lifeline_.Guard([this](Result<api::Lease> lease) { OnRead(std::move(lease)); }));
}

void Election::OnRead(Result<api::Lease> lease) {
  if (lease) {
    must_read_ = false;
    Observe(std::move(*lease));
    return Decide();
  }
  if (lease.error().code() == Code::kNotFound) return OnMissing();
  missing_since_.reset();
  spdlog::warn("election: {}", lease.error().message());
  EndAttempt(/*at_once=*/false, lease.error().retry_after());
}

void Election::Observe(api::Lease lease) {
  missing_since_.reset();
  const bool changed =
      !observed_ || observed_->spec != lease.spec || observed_->metadata.uid != lease.metadata.uid;
  if (changed) observed_at_ = Now();
  if (changed && (!observed_ || observed_->spec.holder_identity != lease.spec.holder_identity))
    spdlog::info("election: the lease {}/{} is held by \"{}\"", options_.ns, options_.name,
                 lease.spec.holder_identity);
  // Whoever makes a deleted lease again may have seen less of it: our epochs rise all the same.
  transitions_ = std::max(transitions_, lease.spec.lease_transitions.value_or(0));
  observed_ = std::move(lease);
}

bool Election::HeldByOther() const {
  const api::LeaseSpec& spec = observed_->spec;
  if (spec.holder_identity.empty() || spec.holder_identity == options_.identity) return false;
  const Duration duration = spec.lease_duration_seconds
                                ? Duration(seconds(*spec.lease_duration_seconds))
                                : options_.lease_duration;
  return Now() - observed_at_ <= duration;
}

// A lease that somebody deleted doesn't end the term of who held it: that one may still write until
// it notices, and it need not be the one that we saw last. So everybody but the leader waits until
// it was missing for a whole lease. Only who never saw it takes it for new.
void Election::OnMissing() {
  if (!missing_since_) missing_since_ = Now();
  if (observed_ && !leading() && Now() - *missing_since_ <= options_.lease_duration)
    return EndAttempt();
  api::Lease lease = Claim(/*new_term=*/!leading());
  lease.metadata = {};
  lease.metadata.namespace_ = options_.ns;
  lease.metadata.name = options_.name;
  Write(std::move(lease), !leading());
}

void Election::Decide() {
  const std::string& holder = observed_->spec.holder_identity;
  if (leading() && holder != options_.identity)
    StopTerm(fmt::format("the lease is held by \"{}\"", holder));
  if (HeldByOther()) return EndAttempt();
  Write(Claim(/*new_term=*/!leading()), !leading());
}

// What was observed, with us as its holder.
api::Lease Election::Claim(bool new_term) const {
  api::Lease lease = observed_.value_or(api::Lease{});
  const WallTime now = client_.loop().clock().Wall();
  lease.spec.renew_time.at = now;
  lease.spec.holder_identity = options_.identity;
  lease.spec.lease_duration_seconds =
      static_cast<int32_t>(std::chrono::duration_cast<seconds>(options_.lease_duration).count());
  if (new_term) {
    lease.spec.acquire_time.at = now;
    lease.spec.lease_transitions = transitions_ + 1;
  }
  return lease;
}

void Election::Write(api::Lease lease, bool new_term) {
  auto done = lifeline_.Guard([this, sent_at = Now(), new_term](Result<api::Lease> written) {
    OnWritten(sent_at, new_term, std::move(written));
  });
  if (lease.metadata.resource_version.empty())
    client_.Create<api::Lease>(lease, Call(), std::move(done));
  else
    client_.Update<api::Lease>(lease, Call(), std::move(done));
}

void Election::OnWritten(MonoTime sent_at, bool new_term, Result<api::Lease> written) {
  if (!written) {
    must_read_ = true;
    spdlog::warn("election: {}", written.error().message());
    const Code code = written.error().code();
    const bool lost =
        code == Code::kConflict || code == Code::kAlreadyExists || code == Code::kNotFound;
    // A leader looks at once what became of its lease; others had their turn.
    return EndAttempt(/*at_once=*/lost && from_memory_, written.error().retry_after());
  }
  must_read_ = false;
  Observe(std::move(*written));
  const bool in_time = Now() < sent_at + options_.renew_deadline;
  if (!leading() && new_term && in_time && !releasing_)
    StartTerm(observed_->spec.lease_transitions.value_or(0), sent_at);
  else if (leading())
    ArmDeadline(sent_at);
  // A renewal that came too late for its term is ours all the same: the next attempt begins a new
  // term.
  EndAttempt(/*at_once=*/!leading());
}

void Election::EndAttempt(bool at_once, Duration at_least) {
  attempting_ = false;
  if (releasing_) return ReleaseNow();
  Duration wait = Duration::zero();
  if (!at_once && leading())
    wait = std::max(Duration::zero(), attempt_began_ + options_.retry_period - Now());
  else if (!at_once)
    wait = Duration(static_cast<int64_t>(static_cast<double>(options_.retry_period.count()) *
                                         (1.0 + kJitter * rng_.Unit())));
  attempt_timer_ =
      client_.loop().RunAfter(std::max(wait, at_least), lifeline_.Guard([this] { Attempt(); }));
}

void Election::StartTerm(int64_t epoch, MonoTime renewed_at) {
  spdlog::info("election: {} leads, epoch {}", options_.identity, epoch);
  {
    const std::lock_guard lock(mutex_);
    term_ = Term{epoch, renewed_at};
  }
  ArmDeadline(renewed_at);
  if (callbacks_.on_started) callbacks_.on_started(epoch);
}

void Election::ArmDeadline(MonoTime renewed_at) {
  {
    const std::lock_guard lock(mutex_);
    term_->renewed_at = renewed_at;
  }
  client_.loop().Cancel(deadline_timer_);
  deadline_timer_ =
      client_.loop().RunAt(renewed_at + options_.renew_deadline, lifeline_.Guard([this] {
        StopTerm(
            fmt::format("it wasn't renewed within {}", FormatDuration(options_.renew_deadline)));
      }));
}

void Election::StopTerm(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!term_) return;
    term_.reset();
  }
  client_.loop().Cancel(deadline_timer_);
  if (why.empty())
    spdlog::info("election: {} gives the lease up", options_.identity);
  else
    spdlog::warn("election: {} stops leading: {}", options_.identity, why);
  if (callbacks_.on_stopped) callbacks_.on_stopped(why);
}

void Election::Release(DoneStatus done) {
  client_.loop().Post(lifeline_.Guard([this, done = std::move(done)]() mutable {
    releasing_ = true;
    release_ = std::move(done);
    StopTerm("");
    if (!attempting_)
      ReleaseNow();  // else when the attempt has ended, whose write must not come after ours
  }));
}

void Election::ReleaseNow() {
  client_.loop().Cancel(attempt_timer_);
  client_.Get<api::Lease>(
      options_.ns, options_.name, Call(),
      lifeline_.Guard([this](Result<api::Lease> lease) { WriteRelease(std::move(lease)); }));
}

void Election::WriteRelease(Result<api::Lease> lease) {
  auto done = std::exchange(release_, nullptr);
  if (!lease && lease.error().code() != Code::kNotFound)
    return done(std::unexpected(std::move(lease).error()));
  if (!lease || lease->spec.holder_identity != options_.identity) return done({});
  lease->spec.holder_identity.clear();
  lease->spec.lease_duration_seconds = 1;  // 0 isn't valid
  lease->spec.renew_time.at = client_.loop().clock().Wall();
  client_.Update<api::Lease>(*lease, Call(),
                             [done = std::move(done)](Result<api::Lease> written) mutable {
                               if (!written)
                                 return done(std::unexpected(std::move(written).error()));
                               done({});
                             });
}

}  // namespace sky::kube
