// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_up.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/files.h"
#include "cli/stop_signals.h"
#include "lab/api_server.h"
#include "lab/crds.h"
#include "lab/front.h"
#include "lab/local_kubelets.h"
#include "lab/local_volumes.h"
#include "lab/objects.h"
#include "server/http_server.h"

namespace sky::cli {
namespace {

constexpr std::string_view kMark = "# Written by skyctl lab up, which overwrites it.";
constexpr Duration kTick = std::chrono::milliseconds(50);

Status CheckMayWrite(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  const std::string text = TRY(ReadFile(path));
  if (text.starts_with(kMark) || text.empty()) return {};
  return Fail(Code::kInvalid, "{} is there and was not written by skyctl lab up: name another file",
              path);
}

Status WriteKubeconfig(const std::string& path, const std::string& address) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << kMark
      << fmt::format(R"(
apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster: {{server: "http://{}"}}
users:
- name: lab
  user: {{}}
contexts:
- name: lab
  context: {{cluster: lab, user: lab}}
current-context: lab
)",
                     address);
  out.close();
  if (!out) return Fail(Code::kUnavailable, "cannot write {}", path);
  return {};
}

// The embedded cluster with its kubelets, beating as long as the server runs.
class Cluster {
 public:
  Cluster(const LabUpOptions& options, const Clock& clock)
      : api_(ApiOptions(options, clock), clock, lab::EmbeddedKinds()),
        front_(
            api_, clock,
            [this](Duration wait, std::function<void()> task) {
              http_->RunAfter(wait, std::move(task));
            },
            [](int code) { std::_Exit(code); }) {
    if (!options.kubelets) return;
    kubelets_.emplace(api_, clock, lab::KubeletOptions{});
    volumes_.emplace(api_, clock);
  }

  lab::ApiServer& api() { return api_; }
  lab::Front& front() { return front_; }

  Status Listen(uint16_t port) {
    server::HttpServerOptions options;
    options.address = fmt::format("127.0.0.1:{}", port);
    http_ = TRY(server::HttpServer::Start(
        options, [this](server::Request request, std::shared_ptr<server::Responder> responder) {
          front_.Serve(std::move(request), std::move(responder));
        }));
    Beat();
    return {};
  }
  std::string address() const { return http_->address(); }
  void Stop() {
    api_.CloseWatches();
    http_->Stop();
  }

 private:
  static lab::ApiServerOptions ApiOptions(const LabUpOptions& options, const Clock& clock) {
    lab::ApiServerOptions out;
    // uids must differ from one run to the next; nothing else hangs on the seed.
    out.seed = static_cast<uint64_t>(clock.Wall().time_since_epoch().count());
    // Clients outlive a lab that is stopped and started again, so that its versions must be higher
    // than all of the last run's. It can't have made a change each microsecond.
    out.first_revision =
        std::chrono::ceil<std::chrono::microseconds>(clock.Wall().time_since_epoch()).count();
    out.garbage_collector = options.garbage_collector;
    out.disruption_controller = options.kubelets;
    return out;
  }
  void Beat() {
    if (kubelets_) kubelets_->Step();
    if (volumes_) volumes_->Step();
    api_.Tick();
    http_->RunAfter(kTick, [this] { Beat(); });
  }

  lab::ApiServer api_;
  lab::Front front_;
  std::optional<lab::LocalKubelets> kubelets_;
  std::optional<lab::LocalVolumes> volumes_;
  std::unique_ptr<server::HttpServer> http_;  // the first to die
};

Status Serve(const LabUpOptions& options) {
  TRY(CheckMayWrite(options.kubeconfig));
  const SystemClock clock;
  Cluster cluster(options, clock);
  for (const std::string& path : options.objects) {
    const std::string text = TRY(ReadFile(path));
    TRY(lab::CreateObjects(cluster.api(), text), "{}", path);
  }
  if (!options.faults.empty()) {
    const std::string text = TRY(ReadFile(options.faults));
    TRY(cluster.front().faults().Add(text), "{}", options.faults);
  }
  TRY(cluster.Listen(options.port));
  TRY(WriteKubeconfig(options.kubeconfig, cluster.address()));
  std::puts("ready");
  std::fflush(stdout);
  WaitForStopSignal();
  cluster.Stop();
  return {};
}

}  // namespace

int RunLabUp(const LabUpOptions& options) {
  BlockStopSignals();
  const Status done = Serve(options);
  if (done) return 0;
  fmt::print(stderr, "skyctl lab up: {}\n", done.error().message());
  return ExitCode(done.error());
}

}  // namespace sky::cli
