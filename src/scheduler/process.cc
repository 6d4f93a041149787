// SPDX-License-Identifier: Apache-2.0
#include "scheduler/process.h"

#include <openssl/rand.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/exit_code.h"
#include "base/files.h"
#include "kube/election.h"
#include "kube/events.h"
#include "kube/http.h"
#include "kube/kubeconfig.h"
#include "kube/measured_transport.h"
#include "scheduler/config_watch.h"
#include "scheduler/cycle_thread.h"
#include "scheduler/elected.h"
#include "scheduler/feeds.h"
#include "scheduler/known.h"
#include "scheduler/kube_metrics.h"
#include "scheduler/kube_writer.h"
#include "scheduler/metrics.h"
#include "scheduler/words.h"
#include "server/http_server.h"

namespace sky::scheduler {
namespace {

std::string Identity() {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  uint64_t random = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&random), sizeof random);
  return fmt::format("{}_{:016x}", host, random);
}

// nullopt: there is none.
Result<std::optional<kube::ElectionOptions>> ElectionOf(const ProcessOptions& options) {
  if (!options.leader_elect) return std::nullopt;
  kube::ElectionOptions election;
  election.ns = options.lease_namespace;
  election.name = options.lease_name;
  election.identity = Identity();
  TRY(kube::CheckElectionOptions(election));
  return election;
}

class Recorder final : public EventSink {
 public:
  explicit Recorder(kube::EventRecorder& recorder) : recorder_(recorder) {}
  void Note(const cache::ClusterWriter::EventNote& note) override {
    kube::EventNote out;
    out.type = note.warning ? kube::EventNote::Type::kWarning : kube::EventNote::Type::kNormal;
    out.reason = note.reason;
    out.action = note.action;
    out.note = note.note;
    out.regarding = note.regarding;
    recorder_.Record(std::move(out));
  }

 private:
  kube::EventRecorder& recorder_;
};

}  // namespace

Result<framework::Config> ReadConfig(const std::string& file, const framework::Registry& registry) {
  if (file.empty()) return framework::DefaultConfig(registry.Known());
  const std::string text = TRY(ReadFile(file), "the configuration");
  framework::LoadedConfig loaded = TRY(framework::LoadConfig(text, file, registry.Known()));
  for (const std::string& warning : loaded.warnings) spdlog::warn("{}", warning);
  return std::move(loaded.config);
}

namespace {

server::Response Diagnose(const Scheduler& scheduler, const server::Target& target) {
  const auto& at = target.segments;
  const Result<std::string> answer =
      at.size() == 4 && at[1] == "job"
          ? scheduler.diagnoses().Answer(at[2], at[3])
          : Fail(Code::kInvalid, "a job is asked for by /diagnose/job/NAMESPACE/NAME");
  server::Response response;
  if (answer) {
    response.body = *answer;
    return response;
  }
  const Code code = answer.error().code();
  response.status = code == Code::kInvalid ? 400 : code == Code::kNotFound ? 404 : 503;
  response.body = nlohmann::json{{"message", answer.error().message()}}.dump() + "\n";
  return response;
}

// What runs, in the order in which it depends on each other.
class Running {
 public:
  static Result<std::unique_ptr<Running>> Start(const ProcessOptions& options);
  // Settles what is in flight, gives the lease back, ends everything.
  void Stop();

 private:
  Running() : lease_(clock_) {}
  Status StartHttp(const ProcessOptions& options);
  server::Response Answer(const server::Request& asked);
  void WatchConfig(const ProcessOptions& options, framework::Config config);
  void StartElection(const std::optional<kube::ElectionOptions>& election);
  template <class Fn>
  auto OnLoop(Fn fn) {
    std::promise<decltype(fn())> promise;
    auto future = promise.get_future();
    http_client_->loop().Post([&] { promise.set_value(fn()); });
    return future.get();
  }

  SystemClock clock_;
  Elected lease_;
  std::unique_ptr<kube::HttpClient> http_client_;
  std::unique_ptr<kube::MeasuredTransport> measured_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<KubeWriter> writer_;
  CycleThread cycles_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Feeds> feeds_;
  std::unique_ptr<ConfigWatch> config_watch_;
  std::unique_ptr<kube::Election> election_;
  Metrics metrics_;
  std::unique_ptr<server::HttpServer> http_server_;
};

Result<std::unique_ptr<Running>> Running::Start(const ProcessOptions& options) {
  const std::optional<kube::ElectionOptions> election = TRY(ElectionOf(options));
  const framework::Registry registry = AllKnown();
  framework::Config config = TRY(ReadConfig(options.config_file, registry));
  auto engine = TRY(framework::Engine::Make(registry, config));
  const kube::Access access =
      TRY(kube::LoadAccess(kube::AccessOptions::FromEnvironment(options.kubeconfig)));
  std::unique_ptr<Running> running(new Running);
  running->http_client_ = TRY(kube::HttpClient::Create(access, running->clock_));
  running->measured_ = std::make_unique<kube::MeasuredTransport>(*running->http_client_);
  running->client_ = std::make_unique<kube::Client>(*running->measured_);
  running->events_ = std::make_unique<kube::EventRecorder>(
      *running->client_, kube::EventOptions{.controller = "sky-scheduler", .instance = Identity()});
  running->recorder_ = std::make_unique<Recorder>(*running->events_);
  running->writer_ =
      std::make_unique<KubeWriter>(*running->client_, running->lease_, *running->recorder_);
  Running& r = *running;
  running->scheduler_ = std::make_unique<Scheduler>(
      running->http_client_->loop(), std::move(engine), *running->writer_, running->lease_,
      [&r](std::function<void()> work) { r.cycles_.Run(std::move(work)); });
  running->scheduler_->after_cycle = [&r](const framework::CycleResult&) {
    r.metrics_.Update(*r.scheduler_, r.lease_.leading());
  };
  running->feeds_ = std::make_unique<Feeds>(*running->client_, *running->scheduler_);
  spdlog::info("sky-scheduler {} on {}", SKY_VERSION, access.origin);
  if (Status http = running->StartHttp(options); !http)
    return std::unexpected(std::move(http).error());
  running->feeds_->Start();
  if (!options.config_file.empty()) running->WatchConfig(options, std::move(config));
  running->StartElection(election);
  return running;
}

Status Running::StartHttp(const ProcessOptions& options) {
  server::HttpServerOptions http;
  http.address = options.http_address;
  http_server_ =
      TRY(server::HttpServer::Start(
              http,
              [this](server::Request request, std::shared_ptr<server::Responder> responder) {
                // Answered on the loop: a loop that is stuck fails the liveness probe.
                http_client_->loop().Post([this, asked = std::move(request), responder] {
                  responder->Send(Answer(asked));
                });
              }),
          "--http {}", options.http_address);
  spdlog::info("http on {}", http_server_->address());
  if (options.http_port_file.empty()) return {};
  std::ofstream out(options.http_port_file);
  out << http_server_->port() << "\n";
  out.close();
  if (!out) return Fail(Code::kInvalid, "the port can't be written to {}", options.http_port_file);
  return {};
}

server::Response Running::Answer(const server::Request& asked) {
  const std::string& path = asked.target.path;
  server::Response response{200, "text/plain; charset=utf-8", {}, "ok\n"};
  if (asked.method != "GET" && asked.method != "HEAD")
    return {405, response.content_type, {{"allow", "GET, HEAD"}}, "only GET\n"};
  if (path == "/metrics") {
    metrics_.Update(*scheduler_, lease_.leading());
    response.content_type = "text/plain; version=0.0.4";
    response.body = metrics_.Text() + KubeMetricsText(*measured_->stats(), *feeds_);
  } else if (path == "/readyz" && !scheduler_->ready()) {
    // A replica that waits for the lease is ready: it could lead at once, and a rolling update
    // waits for it.
    response.status = 503;
    response.body = "not every kind has been read yet\n";
  } else if (path.starts_with("/diagnose/")) {
    return Diagnose(*scheduler_, asked.target);
  } else if (path != "/healthz" && path != "/readyz") {
    response.status = 404;
    response.body = "there are /healthz, /readyz, /metrics and /diagnose/job/NAMESPACE/NAME\n";
  }
  return response;
}

// The lease stands for the program in its events.
void Running::WatchConfig(const ProcessOptions& options, framework::Config config) {
  api::ObjectReference lease;
  lease.api_version = "coordination.k8s.io/v1";
  lease.kind = "Lease";
  lease.namespace_ = options.lease_namespace;
  lease.name = options.lease_name;
  ConfigWatch::Callbacks callbacks;
  callbacks.use = [this](std::unique_ptr<framework::Engine> engine) {
    scheduler_->Use(std::move(engine));
  };
  callbacks.tell = [this, lease, file = options.config_file](
                       bool warning, const std::string& reason, const std::string& note) {
    spdlog::log(warning ? spdlog::level::warn : spdlog::level::info, "{}: {}", file, note);
    recorder_->Note(
        {lease, warning, reason, "ReadingConfiguration", Words(Error(Code::kInvalid, note))});
  };
  config_watch_ = std::make_unique<ConfigWatch>(http_client_->loop(), options.config_file,
                                                AllKnown(), std::move(config), callbacks);
  http_client_->loop().Post([this] { config_watch_->Start(); });
}

void Running::StartElection(const std::optional<kube::ElectionOptions>& election) {
  if (!election) {
    http_client_->loop().Post([this] { scheduler_->OnLeadership(true); });
    return;
  }
  kube::ElectionCallbacks callbacks;
  callbacks.on_started = [this](int64_t epoch) {
    spdlog::info("leading, epoch {}", epoch);
    scheduler_->OnLeadership(true);
  };
  callbacks.on_stopped = [this](const std::string& why) {
    if (why.empty())
      spdlog::info("no longer leading: the lease was given up");
    else
      spdlog::warn("no longer leading: {}", why);
    scheduler_->OnLeadership(false);
  };
  election_ = std::make_unique<kube::Election>(*client_, *election, std::move(callbacks));
  lease_.Use(election_.get());
  election_->Start();
}

void Running::Stop() {
  spdlog::info("stopping: writes under way are settled first");
  OnLoop([&] { return scheduler_->Stop(), feeds_->Stop(), true; });
  const MonoTime deadline = clock_.Mono() + std::chrono::seconds(8);
  while (!OnLoop([&] { return scheduler_->Idle(); }) && clock_.Mono() < deadline)
    cycles_.Pause(std::chrono::milliseconds(20));
  if (election_) {
    std::promise<void> released;
    auto done = released.get_future();
    election_->Release([&](Status status) {
      if (!status) spdlog::warn("the lease is not given back: {}", status.error().message());
      released.set_value();
    });
    done.wait_for(std::chrono::seconds(5));
  }
  cycles_.Stop();
  http_client_->Shutdown(std::chrono::seconds(1));
  http_server_->Stop();
  spdlog::info("stopped");
}

}  // namespace

int PrintConfig(const std::string& file) {
  const auto config = ReadConfig(file, AllKnown());
  if (!config) {
    spdlog::error("{}", config.error().message());
    return ExitCode(config.error());
  }
  const std::string text = framework::PrintConfig(*config);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}

int RunProcess(const ProcessOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // Blocked in every thread, taken by this one.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  auto running = Running::Start(options);
  if (!running) {
    spdlog::error("{}", running.error().message());
    return ExitCode(running.error());
  }
  int taken = 0;
  sigwait(&signals, &taken);
  (*running)->Stop();
  return 0;
}

}  // namespace sky::scheduler
