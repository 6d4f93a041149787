// SPDX-License-Identifier: Apache-2.0
#include "load/run.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/exit_code.h"
#include "kube/client.h"
#include "kube/http.h"
#include "kube/kubeconfig.h"
#include "load/cluster.h"
#include "load/live.h"
#include "load/plan.h"

namespace sky::load {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(100);  // for signals and the child's end
constexpr Duration kMostForWatches = std::chrono::minutes(1);

class Run {
 public:
  Run(const Options& options, const Clock& clock, const Hooks& hooks)
      : options_(options), clock_(clock), hooks_(hooks) {}
  ~Run() {
    // Watches live on the loop: it ends first.
    if (http_) http_->Shutdown();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Outcome Go();

 private:
  Status Connect();
  Status CheckCluster();  // kInvalid: refused
  Status Prepare();
  Status Measure();
  Status MeasureDrain();
  Status MeasureArrivals();
  Status MeasureDirect();
  Status StartCommand();
  Status AwaitProbe();
  std::string WhatTheProbeSays();
  Status CreatePods(Duration interval);
  Status AwaitBound();
  std::string BindingsSoFar() const;
  Status CleanUp();

  // Waits in short steps: signals and an early end of the scheduler are failures, time over is
  // kUnavailable.
  using Line = std::function<std::string()>;  // how far it is
  Status WaitUntil(const Live::Until& until, Duration most, const Line& line);
  Status WaitUntil(const Live::Until& until, Duration most, std::string_view what);
  Status Finish(Batch& batch, size_t count, std::string_view verb, std::string_view noun);
  Status CheckWorld();
  void Tell(const Line& line);
  Result<Report> MakeReport();

  const Options& options_;
  const Clock& clock_;
  const Hooks& hooks_;
  std::unique_ptr<kube::HttpClient> http_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<Cluster> cluster_;
  Plan plan_;
  std::unique_ptr<Live> live_;
  std::optional<Command> command_;
  std::optional<MonoTime> start_;
  std::optional<ProcessUse> use_;  // at the start, afterwards what was spent
  MonoTime told_{};
  bool made_ = false, timed_out_ = false, cleaning_ = false;
};

Status Run::Connect() {
  const kube::Access access =
      TRY(kube::LoadAccess(kube::AccessOptions::FromEnvironment(options_.kubeconfig)));
  kube::HttpOptions http;
  http.program = "skyctl-load";
  http.max_in_flight = static_cast<size_t>(options_.in_flight);
  http_ = TRY(kube::HttpClient::Create(access, clock_, http));
  client_ = std::make_unique<kube::Client>(*http_);
  cluster_ = std::make_unique<Cluster>(*client_, options_.in_flight);
  return {};
}

Status Run::CheckCluster() {
  const Survey survey = TRY(cluster_->Look());
  TRY(CheckSurvey(options_, survey));
  plan_ = TRY(MakePlan(options_,
                       options_.make_nodes ? RoomsToMake(options_.shape) : RoomsOf(survey.others)));
  return {};
}

Outcome Run::Go() {
  Status done = CheckOptions(options_);
  if (!done) return {2, {}, done.error().message()};
  if (done = Connect(); !done) return {ExitCode(done.error()), {}, done.error().message()};
  if (options_.clean || options_.mode == Mode::kClean)
    if (done = CleanUp(); !done) return {1, {}, done.error().message()};
  if (options_.mode == Mode::kClean) return {};
  if (done = CheckCluster(); !done) return {ExitCode(done.error()), {}, done.error().message()};

  Outcome outcome;
  done = Prepare();
  if (done) done = Measure();
  if (done || timed_out_) {
    if (Result<Report> report = MakeReport())
      outcome.report = std::move(*report);
    else if (done)
      done = std::unexpected(std::move(report).error());
  }
  command_.reset();  // before what it schedules goes away
  std::string left;
  if (made_ && !options_.keep)
    if (const Status gone = CleanUp(); !gone)
      left =
          fmt::format("not all was removed, skyctl load clean does it: {}", gone.error().message());
  if (outcome.report && !outcome.report->reading.problems.empty() && done)
    done = Fail(Code::kInternal, "pods stand where they may not be");
  if (!done) outcome.message = done.error().message();
  if (!left.empty()) outcome.message += (done ? "" : "; ") + left;
  outcome.exit_code = outcome.message.empty() ? 0 : 1;
  return outcome;
}

Status Run::Prepare() {
  made_ = true;
  TRY(cluster_->MakeNamespace(options_.shape.ns));
  live_ = std::make_unique<Live>(*client_, options_.shape.ns, plan_.layout);
  live_->Start();
  TRY(WaitUntil([](const Live::State& state) { return state.synced; }, kMostForWatches,
                "the watches"));
  const auto ground = cluster_->Create(plan_.ground);
  return Finish(*ground, plan_.ground.size(), "created", "nodes, quotas and groups");
}

Status Run::Measure() {
  switch (options_.mode) {
    case Mode::kDrain:
      return MeasureDrain();
    case Mode::kDirect:
      return MeasureDirect();
    default:
      return MeasureArrivals();
  }
}

Status Run::MeasureDrain() {
  TRY(CreatePods({}));
  start_ = clock_.Mono();
  use_ = ProcessUse{};
  TRY(StartCommand());
  return AwaitBound();
}

Status Run::MeasureArrivals() {
  if (!options_.command.empty()) TRY(StartCommand());
  TRY(AwaitProbe());
  if (command_) use_ = TRY(command_->Use());
  start_ = clock_.Mono();
  Duration interval{0};
  if (options_.mode == Mode::kRate)
    interval = std::chrono::round<Duration>(std::chrono::duration<double>(1 / options_.rate));
  TRY(CreatePods(interval));
  return AwaitBound();
}

Status Run::MeasureDirect() {
  TRY(CreatePods({}));
  const std::vector<std::string> places = DirectPlaces(plan_.layout);
  std::vector<kube::PodRef> pods;
  live_->With([&](const Live::State& state) {
    for (size_t i = 0; i < plan_.pods.size(); ++i)
      pods.push_back({plan_.pods[i].ns, plan_.pods[i].name, state.meter.UidOf(i)});
  });
  start_ = clock_.Mono();
  const auto batch = Batch::Start(
      client_->loop(), {pods.size(), static_cast<size_t>(options_.in_flight), {}},
      [&](size_t i, kube::DoneStatus done) {
        client_->Bind(pods[i], places[i], {}, {.retry_throttled = true}, std::move(done));
      });
  TRY(Finish(*batch, pods.size(), "bound", "pods"));
  return AwaitBound();
}

Status Run::StartCommand() {
  command_.emplace(TRY(Command::Start(options_.command, options_.scheduler_log)));
  return {};
}

// One pod of its own shows that the scheduler is there and works; afterwards all is as before.
Status Run::AwaitProbe() {
  TRY(Finish(*cluster_->Create({plan_.probe}), 1, "created", "probes"));
  if (Status bound =
          WaitUntil([](const Live::State& state) { return state.probe_bound; }, options_.timeout,
                    fmt::format("{} to bind a first pod", options_.shape.scheduler));
      !bound) {
    if (bound.error().code() != Code::kUnavailable) return bound;
    return Fail(Code::kUnavailable, "{}. {}", bound.error().message(), WhatTheProbeSays());
  }
  api::ObjectMeta probe;
  probe.name = plan_.probe.name;
  probe.namespace_ = plan_.probe.ns;
  TRY(Finish(*cluster_->Delete({{plan_.probe.kind, std::move(probe)}}), 1, "removed", "probes"));
  return WaitUntil(
      [](const Live::State& state) {
        return !state.probe_there && state.meter.quotas().in_use() == 0;
      },
      options_.timeout, "the first pod's quota to be free again");
}

// Its group's reason says more than its own.
std::string Run::WhatTheProbeSays() {
  if (plan_.layout.per_quota > 0)
    if (const auto groups = cluster_->GroupReasons(options_.shape.ns))
      if (const auto group = groups->find(std::string(kProbe)); group != groups->end())
        return "It says: " + group->second;
  const std::string own = live_->With([](const Live::State& state) { return state.probe_says; });
  return own.empty() ? "No scheduler has said anything of it" : "It says: " + own;
}

Status Run::CreatePods(Duration interval) {
  const auto batch = Batch::Start(
      client_->loop(), {plan_.pods.size(), static_cast<size_t>(options_.in_flight), interval},
      [this](size_t i, kube::DoneStatus done) {
        live_->Creating(i);
        cluster_->SendCreate(plan_.pods[i], std::move(done));
      });
  TRY(Finish(*batch, plan_.pods.size(), "created", "pods"));
  return WaitUntil([](const Live::State& state) { return state.meter.AllSeen(); }, kMostForWatches,
                   "the watch to show all pods");
}

Status Run::AwaitBound() {
  Status done = WaitUntil([](const Live::State& state) { return state.meter.Finished(); },
                          options_.timeout, [this] { return BindingsSoFar(); });
  timed_out_ = !done && done.error().code() == Code::kUnavailable;
  if (command_ && !command_->Ended()) {
    const ProcessUse now = TRY(command_->Use());
    use_ = ProcessUse{now.cpu - use_->cpu, now.peak_memory_kib};
  } else {
    use_.reset();
  }
  return done;
}

std::string Run::BindingsSoFar() const {
  return live_->With([](const Live::State& state) {
    const Meter& meter = state.meter;
    if (!meter.AllBound())
      return fmt::format("bound {} of {} pods", meter.bound(), meter.layout().pods.size());
    return fmt::format("bound all pods, {} quotas' statuses don't say so", meter.quotas().behind());
  });
}

Status Run::WaitUntil(const Live::Until& until, Duration most, const Line& line) {
  const MonoTime deadline = clock_.Mono() + most;
  while (!live_->WaitFor(until, kLook)) {
    TRY(CheckWorld());
    if (const auto bad = live_->With([](const Live::State& state) { return state.bad; }))
      return Fail(Code::kInternal, "an object can't be read: {}", *bad);
    if (clock_.Mono() > deadline)
      return Fail(Code::kUnavailable, "{}, for {} now", line(), FormatDuration(most));
    Tell(line);
  }
  return {};
}

Status Run::WaitUntil(const Live::Until& until, Duration most, std::string_view what) {
  return WaitUntil(until, most, [&] { return fmt::format("waiting for {}", what); });
}

Status Run::Finish(Batch& batch, size_t count, std::string_view verb, std::string_view noun) {
  Status world;
  while (!batch.WaitFor(kLook)) {
    Tell([&] { return fmt::format("{} {} of {} {}", verb, batch.answered(), count, noun); });
    if (world) world = CheckWorld();
    if (!world) batch.Abandon();
  }
  TRY(std::move(world));
  return batch.result();
}

Status Run::CheckWorld() {
  if (hooks_.stop())
    return Fail(Code::kCancelled, "stopped by a signal{}",
                cleaning_ ? " before all was removed" : "");
  if (command_ && command_->Ended())
    return Fail(Code::kInternal, "{} ended early, with {}: see --scheduler-log",
                options_.command[0], *command_->Ended());
  return {};
}

// At most once a second, and not at all when it's quick.
void Run::Tell(const Line& line) {
  const MonoTime now = clock_.Mono();
  if (told_ == MonoTime{}) told_ = now;
  if (now - told_ < std::chrono::seconds(1)) return;
  told_ = now;
  hooks_.say(line());
}

Status Run::CleanUp() {
  cleaning_ = true;
  for (const api::Kind* kind : Cluster::KindsMade()) {
    std::vector<Cluster::Found> found = TRY(cluster_->Find(*kind));
    const size_t count = found.size();
    const auto batch = cluster_->Delete(std::move(found));
    TRY(Finish(*batch, count, "removed", kind->plural));
  }
  cleaning_ = false;
  return {};
}

Result<Report> Run::MakeReport() {
  Report report;
  report.mode = options_.mode;
  report.scheduler =
      options_.mode == Mode::kDirect ? std::string(kMadeBy) : options_.shape.scheduler;
  report.nodes = plan_.layout.nodes.size();
  report.gang_size = plan_.layout.gang;
  report.reading = live_->With([&](const Live::State& state) { return state.meter.Read(*start_); });
  report.use = use_;
  // From creation to binding is the scheduler's only where it ran meanwhile.
  if (options_.mode == Mode::kDrain || options_.mode == Mode::kDirect) {
    report.reading.pod_latency.reset();
    report.reading.gang_latency.reset();
  }
  if (report.reading.bound < report.reading.pods) {
    std::map<std::string, std::string> groups;
    if (plan_.layout.per_quota > 0) groups = TRY(cluster_->GroupReasons(options_.shape.ns));
    report.unbound =
        live_->With([&](const Live::State& state) { return state.meter.Unbound(groups); });
  }
  return report;
}

}  // namespace

Outcome RunLoad(const Options& options, const Clock& clock, const Hooks& hooks) {
  return Run(options, clock, hooks).Go();
}

}  // namespace sky::load
