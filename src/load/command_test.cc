// SPDX-License-Identifier: Apache-2.0
#include "load/command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/files.h"

namespace sky::load {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ProcessUse, CpuIsThatOfUserAndSystem) {
  const std::string_view stat =
      "12 (a) b (c) S 1 12 12 0 -1 4194304 900 0 0 0 150 25 7 8 20 0 4 0 123 1000 200";
  EXPECT_EQ(ReadCpu(stat, 100).value(), milliseconds(1750));
  EXPECT_EQ(ReadCpu(stat, 1000).value(), milliseconds(175));
  EXPECT_FALSE(ReadCpu("12 (short) S 1", 100).has_value());
  EXPECT_FALSE(ReadCpu("", 100).has_value());
}

TEST(ProcessUse, MemoryIsThePeak) {
  EXPECT_EQ(
      ReadPeakMemory("Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n").value(),
      1234);
  EXPECT_FALSE(ReadPeakMemory("Name:\tx\nVmRSS:\t 7 kB\n").has_value());
}

TEST(ProcessUse, IsReadOfALiveProcess) {
  auto command = Command::Start({"cat", "/dev/zero"}, "/dev/null");
  ASSERT_TRUE(command.has_value());
  const auto use = command->Use();
  ASSERT_TRUE(use.has_value()) << use.error().message();
  EXPECT_GT(use->peak_memory_kib, 0);
  command->Stop();
}

class CommandTest : public ::testing::Test {
 protected:
  ~CommandTest() override { std::filesystem::remove(log); }
  const std::string log =
      std::filesystem::temp_directory_path() / fmt::format("sky-load-command-{}", ::getpid());
};

TEST_F(CommandTest, WritesWhatItSaysIntoTheFile) {
  auto command = Command::Start({"sh", "-c", "echo out; echo err >&2; exit 3"}, log);
  ASSERT_TRUE(command.has_value()) << command.error().message();
  while (!command->Ended()) std::this_thread::yield();
  EXPECT_EQ(*command->Ended(), "exit code 3");
  EXPECT_EQ(ReadFile(log).value(), "out\nerr\n");
}

TEST_F(CommandTest, EndsWhenItIsTold) {
  // "exec": the shell is replaced, so that the signal meets the program.
  auto command = Command::Start({"sh", "-c", "exec cat /dev/zero > /dev/null"}, log);
  ASSERT_TRUE(command.has_value());
  EXPECT_FALSE(command->Ended().has_value());
  command->Stop();
  EXPECT_EQ(command->Ended(), "signal 15");
}

TEST_F(CommandTest, IsKilledWhenItDoesntListen) {
  auto command =
      Command::Start({"sh", "-c", "trap '' TERM; echo deaf; exec cat /dev/zero > /dev/null"}, log);
  ASSERT_TRUE(command.has_value());
  while (ReadFile(log).value() != "deaf\n") std::this_thread::yield();
  command->Stop(milliseconds(1));
  EXPECT_EQ(command->Ended(), "signal 9");
}

TEST_F(CommandTest, SaysWhyItCantBeStarted) {
  const auto missing = Command::Start({"no-such-program-anywhere"}, log);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message(),
            "no-such-program-anywhere can't be started: No such file or directory");
  EXPECT_FALSE(Command::Start({"true"}, "/no/such/folder/log").has_value());
}

}  // namespace
}  // namespace sky::load
