// SPDX-License-Identifier: Apache-2.0
// For tests that run our programs: a child process whose output is read through a pipe, and which
// ends with its object. One thread.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sky::cli {

// A running program, its output read through a pipe.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], 1);
      ::dup2(ends[1], 2);
      ::close(ends[0]);
      ::close(ends[1]);
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    out_ = ends[0];
  }
  ~Program() {
    if (pid_ > 0) Stop(SIGKILL);
    ::close(out_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // True when the mark comes, false when the program ends or is silent for too long before.
  bool Says(std::string_view mark) {
    while (said_.find(mark) == std::string::npos)
      if (!Read()) return false;
    return true;
  }
  bool Ready() { return Says("ready\n"); }
  const std::string& said() const { return said_; }

  // The exit code; 256 and more for a signal.
  int Wait() {
    while (Read()) {
    }
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  }
  int Stop(int signal) {
    ::kill(pid_, signal);
    return Wait();
  }

 private:
  bool Read() {
    pollfd wait{.fd = out_, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, 60'000) != 1) return false;
    char buffer[4096];
    const ssize_t got = ::read(out_, buffer, sizeof buffer);
    if (got > 0) said_.append(buffer, static_cast<size_t>(got));
    return got > 0;
  }
  pid_t pid_ = -1;
  int out_ = -1;
  std::string said_;
};

}  // namespace sky::cli
