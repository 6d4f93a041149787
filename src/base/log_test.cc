// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace sky {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

struct LogTest : ::testing::Test {
  std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
  ~LogTest() override {
    SetLogCycle(0);
    spdlog::set_default_logger(before);
  }

  // What `say` writes to stderr.
  template <class Say>
  std::string Written(const Say& say) {
    ::testing::internal::CaptureStderr();
    say();
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogTest, ALineOfTextCarriesTheCycle) {
  const std::string lines = Written([] {
    ASSERT_TRUE(SetUpLog("text", "info"));
    spdlog::info("job {} placed", "train");
    SetLogCycle(41);
    spdlog::warn("slow");
  });
  EXPECT_THAT(lines, MatchesRegex("[0-9-]+T[0-9:.]+Z I cycle=0 job train placed\n"
                                  "[0-9-]+T[0-9:.]+Z W cycle=41 slow\n"));
}

TEST_F(LogTest, ALineOfJsonIsOneObjectWhateverItSays) {
  const std::string lines = Written([] {
    ASSERT_TRUE(SetUpLog("json", "debug"));
    SetLogCycle(7);
    spdlog::debug("a \"quote\", a \\, a\nline\tand \x01 größe");
  });
  EXPECT_THAT(lines, MatchesRegex("\\{\"time\":\"[0-9-]+T[0-9:.]+Z\",.*\\}\n"));
  EXPECT_THAT(lines, HasSubstr(R"("level":"debug","cycle":7,"message":)"
                               R"("a \"quote\", a \\, a\nline\tand \u0001 größe"})"));
}

TEST_F(LogTest, WhatIsBelowTheLevelIsSilent) {
  EXPECT_EQ(Written([] {
              ASSERT_TRUE(SetUpLog("text", "error"));
              spdlog::warn("nobody hears");
            }),
            "");
}

TEST_F(LogTest, UnknownFormatsAndLevelsAreRefusedAndChangeNothing) {
  EXPECT_EQ(SetUpLog("xml", "info").error().message(),
            "unknown log format \"xml\": use text or json");
  EXPECT_THAT(SetUpLog("text", "loud").error().message(), HasSubstr("unknown log level \"loud\""));
  EXPECT_EQ(spdlog::default_logger(), before);
}

}  // namespace
}  // namespace sky
