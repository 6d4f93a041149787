// SPDX-License-Identifier: Apache-2.0
#include "kube/credentials.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sky::kube {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPem = "-----BEGIN CERTIFICATE-----\n";

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest()
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("sky-credentials-{}", getpid())) {
    std::filesystem::create_directories(directory_);
    access_.origin = "a test";
  }
  ~CredentialsTest() override { std::filesystem::remove_all(directory_); }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }
  Credentials Load() {
    auto credentials = Credentials::Load(access_, clock_);
    EXPECT_TRUE(credentials) << credentials.error().message();
    return *credentials;
  }

  std::filesystem::path directory_;
  ManualClock clock_;
  Access access_;
};

TEST_F(CredentialsTest, ATokenFileIsReadAgainWithinAMinute) {
  access_.token.file = Write("token", "one\n");
  Credentials credentials = Load();
  Write("token", "two\n");
  clock_.Advance(49s);
  EXPECT_EQ(credentials.Token(), "one");
  clock_.Advance(1s);
  EXPECT_EQ(credentials.Token(), "two");
}

TEST_F(CredentialsTest, ARefusedTokenIsReadAgainAtOnce) {
  access_.token.file = Write("token", "one");
  Credentials credentials = Load();
  EXPECT_FALSE(credentials.RenewToken("one")) << "the file still says the same";
  Write("token", "two");
  EXPECT_TRUE(credentials.RenewToken("one"));
  EXPECT_EQ(credentials.Token(), "two");
  Write("token", "three");
  EXPECT_TRUE(credentials.RenewToken("one")) << "a request that left before it was renewed";
  EXPECT_EQ(credentials.Token(), "two") << "whose refusal says nothing against this one";
}

TEST_F(CredentialsTest, ATokenThatCanNotBeReadAnyMoreStaysInUse) {
  access_.token.file = Write("token", "one");
  Credentials credentials = Load();
  std::filesystem::remove(directory_ / "token");
  EXPECT_FALSE(credentials.RenewToken("one"));
  EXPECT_EQ(credentials.Token(), "one");
  Write("token", " \n");
  EXPECT_FALSE(credentials.RenewToken("one"));
  EXPECT_EQ(credentials.Token(), "one");
}

TEST_F(CredentialsTest, ATokenInTheConfigStaysAsItIs) {
  access_.token.text = "fixed";
  Credentials credentials = Load();
  EXPECT_FALSE(credentials.RenewToken("fixed"));
  EXPECT_EQ(credentials.Token(), "fixed");
}

TEST_F(CredentialsTest, ReplacedCertificatesAreNoticedWithinAMinute) {
  access_.ca.file = Write("ca", std::string(kPem) + "1");
  access_.client_certificate.text = std::string(kPem) + "c";
  access_.client_key.text = std::string(kPem) + "k";
  Credentials credentials = Load();
  const auto before = credentials.Tls();
  EXPECT_EQ(before->ca, std::string(kPem) + "1");
  EXPECT_EQ(before->certificate, std::string(kPem) + "c");
  clock_.Advance(60s);
  EXPECT_EQ(credentials.Tls(), before) << "unchanged content is the same thing";
  Write("ca", std::string(kPem) + "2");
  EXPECT_EQ(credentials.Tls(), before);
  clock_.Advance(60s);
  EXPECT_EQ(credentials.Tls()->ca, std::string(kPem) + "2");
  Write("ca", "half a fi");
  clock_.Advance(60s);
  EXPECT_EQ(credentials.Tls()->ca, std::string(kPem) + "2");
}

TEST_F(CredentialsTest, WhatCanNotBeReadAtTheStartIsAnError) {
  const Access good = access_;
  access_.token.file = (directory_ / "missing").string();
  EXPECT_NE(Credentials::Load(access_, clock_).error().message().find("a test: the token: "),
            std::string::npos);
  access_ = good;
  access_.token.file = Write("empty", "");
  EXPECT_FALSE(Credentials::Load(access_, clock_));
  access_ = good;
  access_.token.text = "two\nlines";
  EXPECT_FALSE(Credentials::Load(access_, clock_));
  access_ = good;
  access_.ca.text = "no pem";
  EXPECT_NE(Credentials::Load(access_, clock_)
                .error()
                .message()
                .find("the certificate authority is not in PEM form"),
            std::string::npos);
  access_ = good;
  access_.client_key.file = (directory_ / "missing").string();
  EXPECT_FALSE(Credentials::Load(access_, clock_));
}

}  // namespace
}  // namespace sky::kube
