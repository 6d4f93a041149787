// SPDX-License-Identifier: Apache-2.0
#include "load/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/files.h"

extern char** environ;

namespace sky::load {
namespace {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

Result<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data())
    return Fail(Code::kInternal, "\"{}\" is not a number", text);
  return value;
}

// The n-th of words that one blank parts, from 0.
std::string_view Word(std::string_view text, int n) {
  for (; n > 0; --n) {
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return {};
    text.remove_prefix(blank + 1);
  }
  return text.substr(0, text.find(' '));
}

// Signals that we block or ignore are the child's own again; the group is its own.
struct Attributes {
  Attributes() {
    posix_spawnattr_init(&value);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&value, &none);
    posix_spawnattr_setsigdefault(&value, &all);
    posix_spawnattr_setpgroup(&value, 0);
    posix_spawnattr_setflags(
        &value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t value;
};

struct Files {
  explicit Files(int log) {
    posix_spawn_file_actions_init(&value);
    posix_spawn_file_actions_addopen(&value, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&value, log, 1);
    posix_spawn_file_actions_adddup2(&value, log, 2);
  }
  ~Files() { posix_spawn_file_actions_destroy(&value); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  posix_spawn_file_actions_t value;
};

}  // namespace

Result<Duration> ReadCpu(std::string_view stat, int64_t ticks_per_second) {
  // The name of the program stands in brackets and may hold anything: fields count from the last.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos)
    return Fail(Code::kInternal, "a stat file without a program's name");
  const std::string_view fields = stat.substr(name_end + 2);  // from the third field on, state
  const int64_t user = TRY(Number(Word(fields, 11)), "utime");
  const int64_t system = TRY(Number(Word(fields, 12)), "stime");
  return std::chrono::nanoseconds((user + system) * (1'000'000'000 / ticks_per_second));
}

Result<int64_t> ReadPeakMemory(std::string_view status) {
  const std::string_view mark = "\nVmHWM:";
  const size_t found = status.find(mark);
  if (found == std::string_view::npos) return Fail(Code::kInternal, "a status file without VmHWM");
  std::string_view rest = status.substr(found + mark.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return Number(rest);
}

Result<Command> Command::Start(const std::vector<std::string>& words, const std::string& log) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (out < 0) return Fail(Code::kInvalid, "{}: {}", log, ErrnoText(errno));
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (std::string& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Attributes attributes;
  const Files files(out);
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, argv[0], &files.value, &attributes.value, argv.data(), environ);
  ::close(out);
  if (error != 0)
    return Fail(Code::kInvalid, "{} can't be started: {}", words[0], ErrnoText(error));
  // By its number: this C library declares pidfd_open for C alone.
  const int pid_fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (pid_fd < 0) {
    const int why = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return Fail(Code::kInternal, "{} can't be watched: {}", words[0], ErrnoText(why));
  }
  return Command(pid, pid_fd);
}

Command::Command(Command&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pid_fd_(std::exchange(other.pid_fd_, -1)),
      ended_(std::move(other.ended_)) {}

Command::~Command() {
  if (pid_ < 0) return;
  Stop();
  ::close(pid_fd_);
}

const std::optional<std::string>& Command::Ended() {
  WaitFor(Duration::zero());
  return ended_;
}

bool Command::WaitFor(Duration most) {
  if (ended_) return true;
  pollfd ready{.fd = pid_fd_, .events = POLLIN, .revents = 0};
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(most).count();
  if (::poll(&ready, 1, static_cast<int>(wait)) != 1) return false;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  ended_ = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                             : fmt::format("signal {}", WTERMSIG(status));
  return true;
}

Result<ProcessUse> Command::Use() const {
  const std::string stat = TRY(ReadFile(fmt::format("/proc/{}/stat", pid_)));
  const std::string status = TRY(ReadFile(fmt::format("/proc/{}/status", pid_)));
  return ProcessUse{TRY(ReadCpu(stat, ::sysconf(_SC_CLK_TCK))), TRY(ReadPeakMemory(status))};
}

void Command::Stop(Duration most) {
  if (WaitFor(Duration::zero())) return;
  ::kill(pid_, SIGTERM);
  if (WaitFor(most)) return;
  ::kill(pid_, SIGKILL);
  WaitFor(std::chrono::hours(1));  // nothing survives it
}

}  // namespace sky::load
