// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_up.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "lab/api_server.h"
#include "lab/crds.h"
#include "lab/front.h"
#include "lab/objects.h"
#include "server/http_server.h"

namespace sky::cli {
namespace {

constexpr std::string_view kMark = "# Written by skyctl lab up, which overwrites it.";
constexpr Duration kTick = std::chrono::milliseconds(50);

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in || text.bad()) return Fail(Code::kNotFound, "cannot read {}", path);
  return text.str();
}

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

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Ticks as long as the server runs.
void KeepTicking(server::HttpServer& http, lab::ApiServer& api) {
  http.RunAfter(kTick, [&] {
    api.Tick();
    KeepTicking(http, api);
  });
}

Status Serve(const LabUpOptions& options, const sigset_t& signals) {
  TRY(CheckMayWrite(options.kubeconfig));
  const SystemClock clock;
  lab::ApiServerOptions api_options;
  // uids must differ from one run to the next; nothing else hangs on the seed.
  api_options.seed = static_cast<uint64_t>(clock.Wall().time_since_epoch().count());
  api_options.garbage_collector = options.garbage_collector;
  api_options.disruption_controller = options.kubelets;
  const auto api = std::make_unique<lab::ApiServer>(api_options, clock, lab::EmbeddedKinds());
  for (const std::string& path : options.objects) {
    const std::string text = TRY(ReadFile(path));
    TRY(lab::CreateObjects(*api, text), "{}", path);
  }

  server::HttpServer* running = nullptr;
  lab::Front front(*api, clock, [&](Duration wait, std::function<void()> task) {
    running->RunAfter(wait, std::move(task));
  });
  server::HttpServerOptions http_options;
  http_options.address = fmt::format("127.0.0.1:{}", options.port);
  const auto http = TRY(server::HttpServer::Start(
      http_options, [&](server::Request request, std::shared_ptr<server::Responder> responder) {
        front.Serve(std::move(request), std::move(responder));
      }));
  running = http.get();
  KeepTicking(*http, *api);
  TRY(WriteKubeconfig(options.kubeconfig, http->address()));
  std::puts("ready");
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  api->CloseWatches();
  http->Stop();
  return {};
}

}  // namespace

int RunLabUp(const LabUpOptions& options) {
  // Before any thread starts, so that all of them leave the signals to sigwait.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const Status done = Serve(options, signals);
  if (done) return 0;
  fmt::print(stderr, "skyctl lab up: {}\n", done.error().message());
  return 1;
}

}  // namespace sky::cli
