// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sky::kube {
namespace {

constexpr const char* kGood = R"(
apiVersion: v1
kind: Config
current-context: dev
contexts:
- {name: dev, context: {cluster: c1, user: u1, namespace: team}}
- {name: other, context: {cluster: c2, user: u2}}
clusters:
- name: c1
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
- name: c2
  cluster: {server: "https://10.0.0.2", insecure-skip-tls-verify: true, extensions: []}
users:
- name: u1
  user: {client-certificate-data: aGVs bG8=, client-key: /keys/u1.key}
- name: u2
  user: {token: abc, tokenFile: token}
preferences: {}
)";

Result<Access> Select(const std::string& text, std::string_view context = "") {
  const KubeconfigText file{"/etc/sky/config", text};
  return SelectAccess({&file, 1}, context);
}
std::string MessageOf(const Result<Access>& result) {
  return result ? "no error" : result.error().message();
}

TEST(KubeconfigTest, TheCurrentContextIsReadWithItsClusterAndUser) {
  const auto access = Select(kGood);
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->server, "https://10.0.0.1:6443");
  EXPECT_EQ(access->ca, (Material{"", "/etc/sky/pki/ca.crt"})) << "relative to the file";
  EXPECT_EQ(access->tls_server_name, "kubernetes");
  EXPECT_EQ(access->proxy_url, "http://proxy:3128");
  EXPECT_FALSE(access->insecure_skip_tls_verify);
  EXPECT_EQ(access->client_certificate, (Material{"hello", ""}));
  EXPECT_EQ(access->client_key, (Material{"", "/keys/u1.key"}));
  EXPECT_EQ(access->namespace_, "team");
  EXPECT_EQ(access->origin, "context \"dev\" in /etc/sky/config");
}

TEST(KubeconfigTest, AContextCanBeNamedAndATokenFileWins) {
  const auto access = Select(kGood, "other");
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->server, "https://10.0.0.2");
  EXPECT_TRUE(access->insecure_skip_tls_verify);
  EXPECT_EQ(access->token, (Material{"", "/etc/sky/token"}));
  EXPECT_EQ(access->namespace_, "default");
}

TEST(KubeconfigTest, TheFirstFileThatSaysSomethingWins) {
  const std::vector<KubeconfigText> files = {
      {"/a/config", "contexts: [{name: x, context: {cluster: shared, user: me}}]"},
      {"/b/config",
       "current-context: x\nclusters: [{name: shared, cluster: {server: 'https://b', "
       "certificate-authority: ca}}]"},
      {"/c/config",
       "current-context: y\nusers: [{name: me, user: {token: t}}]\n"
       "clusters: [{name: shared, cluster: {server: 'https://c'}}]"},
      {"/d/config", ""}};
  const auto access = SelectAccess(files, "");
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->server, "https://b");
  EXPECT_EQ(access->ca.file, "/b/ca");
  EXPECT_EQ(access->token.text, "t");
}

TEST(KubeconfigTest, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_EQ(MessageOf(Select("a: [")).rfind("/etc/sky/config:", 0), 0u)
      << MessageOf(Select("a: ["));
  EXPECT_NE(MessageOf(Select("just text")).find("is no kubeconfig"), std::string::npos);
  EXPECT_NE(MessageOf(Select("")).find("no current-context"), std::string::npos);
  EXPECT_EQ(MessageOf(Select(kGood, "nope")),
            "the kubeconfig has no context \"nope\"; it has: dev, other");
  EXPECT_NE(MessageOf(Select("current-context: x\ncontexts: 5")).find("contexts must be a list"),
            std::string::npos);
  EXPECT_NE(
      MessageOf(Select("current-context: x\ncontexts: [5]")).find("an entry of contexts is no map"),
      std::string::npos);
  EXPECT_NE(
      MessageOf(Select("current-context: x\ncontexts: [{name: x}]")).find("has no \"context\" map"),
      std::string::npos);
  EXPECT_NE(MessageOf(Select("current-context: x\ncontexts: [{name: x, context: {user: u}}]"))
                .find("names no cluster"),
            std::string::npos);
  EXPECT_NE(MessageOf(Select("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]"))
                .find("no cluster \"c\"; it has: none"),
            std::string::npos);
  EXPECT_NE(MessageOf(Select("current-context: {a: b}")).find("current-context must be a text"),
            std::string::npos);
}

std::string WithCluster(const std::string& cluster) {
  return "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, "
         "cluster: {" +
         cluster + "}}]";
}

TEST(KubeconfigTest, AClusterThatCanNotBeRightIsRefused) {
  EXPECT_TRUE(Select(WithCluster("server: 'http://x'")));
  for (const char* cluster :
       {"", "server: ''", "server: [1]", "server: 'https://x', insecure-skip-tls-verify: maybe",
        "server: 'https://x', certificate-authority-data: '***'",
        "server: 'https://x', certificate-authority-data: 'a'",
        "server: 'https://x', certificate-authority-data: 'YQ=b'",
        "server: 'https://x', insecure-skip-tls-verify: true, certificate-authority: ca"}) {
    const auto access = Select(WithCluster(cluster));
    ASSERT_FALSE(access) << cluster;
    EXPECT_EQ(access.error().code(), Code::kInvalid);
    EXPECT_NE(access.error().message().find("cluster \"c\" in /etc/sky/config"), std::string::npos)
        << access.error().message();
  }
}

std::string WithUser(const std::string& user) {
  return "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
         "clusters: [{name: c, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {" +
         user + "}}]";
}

TEST(KubeconfigTest, WaysToLogInThatAreNotSupportedSaySo) {
  EXPECT_TRUE(Select(WithUser("")));
  for (const auto& [user, advice] : std::vector<std::pair<std::string, std::string>>{
           {"exec: {command: aws}", "exec plugins are not supported: use a token"},
           {"auth-provider: {name: gcp}", "auth providers are not supported"},
           {"username: a, password: b", "basic auth is not supported"},
           {"token: t, as: root", "impersonation is not supported"},
           {"token: t, as-groups: [a]", "impersonation is not supported"},
           {"client-certificate: a", "client-certificate and client-key go together"},
           {"client-key: a", "client-certificate and client-key go together"}}) {
    const auto access = Select(WithUser(user));
    ASSERT_FALSE(access) << user;
    EXPECT_NE(access.error().message().find("user \"u\" in /etc/sky/config: " + advice),
              std::string::npos)
        << access.error().message();
  }
}

class LoadAccessTest : public ::testing::Test {
 protected:
  LoadAccessTest()
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("sky-kubeconfig-{}", getpid())) {
    std::filesystem::create_directories(directory_ / ".kube");
    options_.home = directory_.string();
  }
  ~LoadAccessTest() override { std::filesystem::remove_all(directory_); }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }
  static std::string Config(const std::string& server) {
    return "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, "
           "cluster: {server: '" +
           server + "'}}]";
  }
  std::string Server() {
    const auto access = LoadAccess(options_);
    return access ? access->server : access.error().message();
  }

  std::filesystem::path directory_;
  AccessOptions options_;
};

TEST_F(LoadAccessTest, TheFlagThenTheEnvironmentThenTheHomeThenThePod) {
  options_.service_host = "10.1.0.1";
  options_.service_port = "443";
  options_.service_account_dir = directory_.string();
  Write("namespace", "kube-system\n");
  EXPECT_EQ(Server(), "https://10.1.0.1:443");
  Write(".kube/config", Config("https://home"));
  EXPECT_EQ(Server(), "https://home");
  options_.kubeconfig_env =
      (directory_ / "missing").string() + "::" + Write("env", Config("https://env"));
  EXPECT_EQ(Server(), "https://env");
  options_.kubeconfig = Write("flag", Config("https://flag"));
  EXPECT_EQ(Server(), "https://flag");
}

TEST_F(LoadAccessTest, AFileThatWasNamedMustExist) {
  Write(".kube/config", Config("https://home"));
  options_.kubeconfig = (directory_ / "missing").string();
  const auto access = LoadAccess(options_);
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code(), Code::kNotFound);
  EXPECT_NE(access.error().message().find("missing: No such file"), std::string::npos);
}

TEST_F(LoadAccessTest, ABrokenFileIsAnErrorAndNotPassedOver) {
  options_.service_host = "10.1.0.1";
  options_.service_port = "443";
  Write(".kube/config", "a: [");
  EXPECT_EQ(LoadAccess(options_).error().code(), Code::kInvalid);
}

TEST_F(LoadAccessTest, APodIsKnownByItsEnvironmentAndItsFiles) {
  options_.service_host = "fd00::1";
  options_.service_port = "443";
  options_.service_account_dir = directory_.string();
  EXPECT_EQ(LoadAccess(options_).error().code(), Code::kNotFound) << "no namespace file";
  Write("namespace", "kube-system\n");
  const auto access = LoadAccess(options_);
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->token.file, (directory_ / "token").string());
  EXPECT_EQ(access->ca.file, (directory_ / "ca.crt").string());
  EXPECT_EQ(access->namespace_, "kube-system");
}

TEST_F(LoadAccessTest, WithoutAnythingTheErrorSaysWhatToDo) {
  EXPECT_NE(Server().find("give --kubeconfig FILE"), std::string::npos);
}

}  // namespace
}  // namespace sky::kube
