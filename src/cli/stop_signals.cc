// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <pthread.h>
#include <signal.h>

namespace sky::cli {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

void BlockStopSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void WaitForStopSignal() {
  const sigset_t signals = StopSignals();
  int signal = 0;
  sigwait(&signals, &signal);
}

bool StopSignalCame() {
  const sigset_t signals = StopSignals();
  const timespec now{};
  return sigtimedwait(&signals, nullptr, &now) > 0;
}

}  // namespace sky::cli
