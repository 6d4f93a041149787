// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_kubelets.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/exit_code.h"
#include "cli/stop_signals.h"
#include "kube/client.h"
#include "kube/http.h"
#include "kube/kubeconfig.h"
#include "lab/remote_kubelets.h"

namespace sky::cli {
namespace {

Status Serve(const std::string& kubeconfig) {
  const SystemClock clock;
  const kube::Access access =
      TRY(kube::LoadAccess(kube::AccessOptions::FromEnvironment(kubeconfig)));
  kube::HttpOptions options;
  options.program = "skyctl-kubelets";
  const auto http = TRY(kube::HttpClient::Create(access, clock, options));
  kube::Client client(*http);
  lab::RemoteKubelets kubelets(client, {}, [] {
    std::puts("ready");
    std::fflush(stdout);
  });
  kubelets.Start();
  WaitForStopSignal();
  http->Shutdown();
  return {};
}

}  // namespace

int RunLabKubelets(const std::string& kubeconfig) {
  BlockStopSignals();
  const Status done = Serve(kubeconfig);
  if (done) return 0;
  fmt::print(stderr, "skyctl lab kubelets: {}\n", done.error().message());
  return ExitCode(done.error());
}

}  // namespace sky::cli
