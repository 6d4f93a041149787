// SPDX-License-Identifier: Apache-2.0
// The scheduler as a child process: started, looked at through /proc, ended with SIGTERM and, when
// that doesn't do, SIGKILL. A process group of its own, so that a Ctrl-C reaches it through us
// alone. One thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace sky::load {

struct ProcessUse {
  Duration cpu{};  // user and system, of all threads, ended ones too
  int64_t peak_memory_kib = 0;
};

// Of /proc/PID/stat and /proc/PID/status. Pure.
Result<Duration> ReadCpu(std::string_view stat, int64_t ticks_per_second);
Result<int64_t> ReadPeakMemory(std::string_view status);

class Command {
 public:
  // words[0] is looked up in PATH. Output and errors go to the file, from its beginning.
  static Result<Command> Start(const std::vector<std::string>& words, const std::string& log);
  ~Command();  // as Stop
  Command(Command&& other) noexcept;
  Command& operator=(Command&&) = delete;

  // "exit code 3", "signal 9", once it has ended.
  const std::optional<std::string>& Ended();
  Result<ProcessUse> Use() const;
  // Waits for at most `most` after SIGTERM.
  void Stop(Duration most = std::chrono::seconds(20));

 private:
  Command(pid_t pid, int pid_fd) : pid_(pid), pid_fd_(pid_fd) {}
  bool WaitFor(Duration most);

  pid_t pid_ = -1;  // -1: moved from
  int pid_fd_ = -1;
  std::optional<std::string> ended_;
};

}  // namespace sky::load
