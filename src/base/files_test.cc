// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sky {
namespace {

TEST(Files, AreReadWhole) {
  const std::string path = ::testing::TempDir() + "sky_files_test";
  const std::string text("a\0b\r\n\xff", 6);
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(*ReadFile(path), text);
  std::filesystem::remove(path);
  const auto gone = ReadFile(path);
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code(), Code::kNotFound);
  EXPECT_EQ(gone.error().message(), path + ": No such file or directory");
}

TEST(Files, AFolderIsAnErrorAndNotAnEmptyText) {
  const auto folder = ReadFile(::testing::TempDir());
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code(), Code::kInvalid);
  EXPECT_NE(folder.error().message().find("it is a folder"), std::string::npos);
}

}  // namespace
}  // namespace sky
