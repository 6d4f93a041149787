// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace sky::cli {
namespace {

class CommandLine : public ::testing::Test {
 protected:
  // "runs", or the exit code and what was said.
  std::string Read(std::vector<const char*> words) {
    CLI::App app("a program");
    std::string text;
    std::vector<std::string> files;
    int port = 0;
    bool flag = false;
    app.set_version_flag("--version", "1.0");
    app.add_option("--text", text, "a text");
    app.add_flag("--flag", flag);
    CLI::App* sub = app.add_subcommand("sub", "a subcommand");
    sub->add_option("-f,--file", files, "files");
    sub->add_option("--port", port, "a port")->check(CLI::Range(0, 65535));
    sub->add_option("NAME", text, "a name");
    words.insert(words.begin(), "program");
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const auto code = ReadCommandLine(app, static_cast<int>(words.size()), words.data());
    const std::string said =
        ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
    return code ? fmt::format("{}: {}", *code, said) : "runs";
  }
};

TEST_F(CommandLine, GoodOnesRun) {
  EXPECT_EQ(Read({}), "runs");
  EXPECT_EQ(Read({"--text", "x", "--flag"}), "runs");
  EXPECT_EQ(Read({"sub", "-f", "a", "-f", "b", "--port", "65535", "name"}), "runs");
}

TEST_F(CommandLine, HelpAndVersionEndWell) {
  EXPECT_TRUE(Read({"--help"}).starts_with("0: a program"));
  EXPECT_TRUE(Read({"sub", "--help"}).starts_with("0: a subcommand"));
  EXPECT_EQ(Read({"--version"}), "0: 1.0\n");
}

TEST_F(CommandLine, AnEmptyValueOfAnyFlagIsRefused) {
  for (const auto& [flag, words] : std::vector<std::pair<std::string, std::vector<const char*>>>{
           {"--text", {"--text", ""}},
           {"--file", {"sub", "-f", ""}},
           {"--file", {"sub", "-f", "a", "-f", ""}},
           {"NAME", {"sub", ""}}}) {
    const std::string said = Read(words);
    EXPECT_TRUE(said.starts_with("2: ")) << flag << ": " << said;
    EXPECT_NE(said.find("an empty value means nothing"), std::string::npos) << said;
    EXPECT_NE(said.find(flag), std::string::npos) << said;
  }
}

TEST_F(CommandLine, WhatNobodyKnowsOrCanReadIsRefused) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"--none"},
                                             {"extra"},
                                             {"--text"},
                                             {"sub", "--port", "65536"},
                                             {"sub", "--port", "-1"},
                                             {"sub", "--port", "x"}})
    EXPECT_TRUE(Read(words).starts_with("2: ")) << words.back();
}

}  // namespace
}  // namespace sky::cli
