// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig.h"

#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/files.h"
namespace sky::kube {
namespace {

struct File {
  std::string path, directory;
  YAML::Node root;
};

// A named entry of one of the lists, and where it stands.
struct Entry {
  YAML::Node node;
  const File* file = nullptr;
  std::string what;  // "user \"dev\" in ~/.kube/config"
};

Result<File> Parse(const KubeconfigText& text) {
  File file{text.path, std::filesystem::path(text.path).parent_path().string(), {}};
  try {
    file.root = YAML::Load(text.text);
  } catch (const YAML::ParserException& e) {
    return Fail(Code::kInvalid, "{}:{}:{}: {}", text.path, e.mark.line + 1, e.mark.column + 1,
                e.msg);
  } catch (const std::exception& e) {
    return Fail(Code::kInvalid, "{}: {}", text.path, e.what());
  }
  if (!file.root.IsMap() && !file.root.IsNull())
    return Fail(Code::kInvalid,
                "{}: is no kubeconfig: a map with clusters, users and contexts is expected",
                text.path);
  return file;
}

// Empty when absent or null.
Result<std::string> Text(const YAML::Node& map, const char* key, std::string_view what) {
  const YAML::Node value = map[key];
  if (!value || value.IsNull()) return std::string();
  if (!value.IsScalar())
    return Fail(Code::kInvalid, "{}: {} must be a text (line {})", what, key,
                value.Mark().line + 1);
  return value.Scalar();
}

Result<bool> Flag(const YAML::Node& map, const char* key, std::string_view what) {
  const std::string text = TRY(Text(map, key, what));
  if (text.empty() || text == "false") return false;
  if (text == "true") return true;
  return Fail(Code::kInvalid, "{}: {} must be true or false, not \"{}\"", what, key, text);
}

// files: the first that has the entry wins. list "clusters", kind "cluster".
Result<Entry> Find(const std::vector<File>& files, const char* list, const char* kind,
                   std::string_view name) {
  std::string known;
  for (const File& file : files) {
    const YAML::Node entries = file.root.IsMap() ? file.root[list] : YAML::Node();
    if (!entries || entries.IsNull()) continue;
    if (!entries.IsSequence())
      return Fail(Code::kInvalid, "{}: {} must be a list", file.path, list);
    for (const YAML::Node& entry : entries) {
      if (!entry.IsMap())
        return Fail(Code::kInvalid, "{}: an entry of {} is no map", file.path, list);
      const std::string entry_name = TRY(Text(entry, "name", file.path));
      known += (known.empty() ? "" : ", ") + entry_name;
      if (entry_name != name) continue;
      std::string what = fmt::format("{} \"{}\" in {}", kind, name, file.path);
      const YAML::Node body = entry[kind];
      if (!body || !body.IsMap()) return Fail(Code::kInvalid, "{}: has no \"{}\" map", what, kind);
      return Entry{body, &file, std::move(what)};
    }
  }
  return Fail(Code::kInvalid, "the kubeconfig has no {} \"{}\"; it has: {}", kind, name,
              known.empty() ? "none" : known);
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  bool padded = false;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      padded = true;
      continue;
    }
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos || padded) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> count) & 0xff);
  }
  if (count >= 6) return std::nullopt;  // a lone digit at the end
  return bytes;
}

std::string Absolute(const File& file, const std::string& path) {
  return (std::filesystem::path(file.directory) / path).lexically_normal().string();
}

// key-data wins over key, as everywhere in Kubernetes.
Result<Material> MaterialOf(const Entry& entry, const std::string& key) {
  const std::string data = TRY(Text(entry.node, (key + "-data").c_str(), entry.what));
  if (!data.empty()) {
    auto bytes = DecodeBase64(data);
    if (!bytes) return Fail(Code::kInvalid, "{}: {}-data is not base64", entry.what, key);
    return Material{std::move(*bytes), ""};
  }
  const std::string path = TRY(Text(entry.node, key.c_str(), entry.what));
  if (path.empty()) return Material{};
  return Material{"", Absolute(*entry.file, path)};
}

Status ReadCluster(const Entry& cluster, Access& access) {
  access.server = TRY(Text(cluster.node, "server", cluster.what));
  if (access.server.empty()) return Fail(Code::kInvalid, "{}: server is missing", cluster.what);
  access.tls_server_name = TRY(Text(cluster.node, "tls-server-name", cluster.what));
  access.proxy_url = TRY(Text(cluster.node, "proxy-url", cluster.what));
  access.insecure_skip_tls_verify =
      TRY(Flag(cluster.node, "insecure-skip-tls-verify", cluster.what));
  access.ca = TRY(MaterialOf(cluster, "certificate-authority"));
  if (access.insecure_skip_tls_verify && !access.ca.empty())
    return Fail(Code::kInvalid,
                "{}: insecure-skip-tls-verify and a certificate authority exclude each other",
                cluster.what);
  return {};
}

Status RefuseUnsupported(const Entry& user) {
  struct Way {
    const char* key;
    std::string_view advice;
  };
  constexpr Way kWays[] = {
      {"exec", "exec plugins are not supported: use a token, a tokenFile or a client certificate"},
      {"auth-provider",
       "auth providers are not supported: use a token, a tokenFile or a client certificate"},
      {"username", "basic auth is not supported: use a token, a tokenFile or a client certificate"},
      {"password", "basic auth is not supported: use a token, a tokenFile or a client certificate"},
      {"as", "impersonation is not supported: use the credentials of that user"},
      {"as-uid", "impersonation is not supported: use the credentials of that user"},
      {"as-groups", "impersonation is not supported: use the credentials of that user"},
      {"as-user-extra", "impersonation is not supported: use the credentials of that user"}};
  for (const Way& way : kWays) {
    const YAML::Node value = user.node[way.key];
    if (value && !value.IsNull()) return Fail(Code::kInvalid, "{}: {}", user.what, way.advice);
  }
  return {};
}

Status ReadUser(const Entry& user, Access& access) {
  TRY(RefuseUnsupported(user));
  access.client_certificate = TRY(MaterialOf(user, "client-certificate"));
  access.client_key = TRY(MaterialOf(user, "client-key"));
  if (access.client_certificate.empty() != access.client_key.empty())
    return Fail(Code::kInvalid,
                "{}: client-certificate and client-key go together, one of them is missing",
                user.what);
  access.token.text = TRY(Text(user.node, "token", user.what));
  const std::string token_file = TRY(Text(user.node, "tokenFile", user.what));
  if (!token_file.empty()) access.token = Material{"", Absolute(*user.file, token_file)};
  return {};
}

Result<Access> Select(const std::vector<File>& files, std::string context_name) {
  for (const File& file : files) {
    if (!context_name.empty()) break;
    if (file.root.IsMap()) context_name = TRY(Text(file.root, "current-context", file.path));
  }
  if (context_name.empty())
    return Fail(Code::kInvalid, "{}: has no current-context: set one, or name a context",
                files.empty() ? "the kubeconfig" : files.front().path);
  const Entry context = TRY(Find(files, "contexts", "context", context_name));
  const std::string cluster = TRY(Text(context.node, "cluster", context.what));
  const std::string user = TRY(Text(context.node, "user", context.what));
  const std::string ns = TRY(Text(context.node, "namespace", context.what));
  if (cluster.empty()) return Fail(Code::kInvalid, "{}: names no cluster", context.what);
  Access access;
  access.origin = context.what;
  if (!ns.empty()) access.namespace_ = ns;
  const Entry cluster_entry = TRY(Find(files, "clusters", "cluster", cluster));
  TRY(ReadCluster(cluster_entry, access));
  if (user.empty()) return access;  // an open server needs none
  const Entry user_entry = TRY(Find(files, "users", "user", user));
  TRY(ReadUser(user_entry, access));
  return access;
}

std::vector<std::string> SplitPaths(std::string_view list) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    const size_t end = list.find(':');
    if (end != 0) paths.emplace_back(list.substr(0, end));
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  return paths;
}

Result<Access> InCluster(const AccessOptions& options) {
  const bool ipv6 = options.service_host.find(':') != std::string::npos;
  const std::string& directory = options.service_account_dir;
  Access access;
  access.server = fmt::format("https://{}{}{}:{}", ipv6 ? "[" : "", options.service_host,
                              ipv6 ? "]" : "", options.service_port);
  access.origin = "the pod's service account in " + directory;
  access.token.file = directory + "/token";
  access.ca.file = directory + "/ca.crt";
  access.namespace_ = TRY(ReadFile(directory + "/namespace"), "{}", access.origin);
  while (access.namespace_.ends_with('\n')) access.namespace_.pop_back();
  return access;
}

std::string FromEnv(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

AccessOptions AccessOptions::FromEnvironment(std::string kubeconfig) {
  AccessOptions options;
  options.kubeconfig = std::move(kubeconfig);
  options.kubeconfig_env = FromEnv("KUBECONFIG");
  options.home = FromEnv("HOME");
  options.service_host = FromEnv("KUBERNETES_SERVICE_HOST");
  options.service_port = FromEnv("KUBERNETES_SERVICE_PORT");
  return options;
}

Result<Access> SelectAccess(std::span<const KubeconfigText> files, std::string_view context) {
  std::vector<File> parsed;
  for (const KubeconfigText& text : files) parsed.push_back(TRY(Parse(text)));
  try {
    return Select(parsed, std::string(context));
  } catch (const YAML::Exception& e) {
    return Fail(Code::kInvalid, "the kubeconfig: line {}: {}", e.mark.line + 1, e.msg);
  }
}

Result<Access> LoadAccess(const AccessOptions& options) {
  std::vector<std::string> paths;
  const bool explicitly = !options.kubeconfig.empty();
  if (explicitly)
    paths.push_back(options.kubeconfig);
  else if (!options.kubeconfig_env.empty())
    paths = SplitPaths(options.kubeconfig_env);
  else if (!options.home.empty())
    paths.push_back(options.home + "/.kube/config");

  std::vector<KubeconfigText> texts;
  for (const std::string& path : paths) {
    std::error_code unreadable;
    if (!explicitly && !std::filesystem::exists(path, unreadable)) continue;
    texts.push_back({path, TRY(ReadFile(path), "the kubeconfig")});
  }
  if (!texts.empty()) return SelectAccess(texts, options.context);
  if (!options.service_host.empty() && !options.service_port.empty()) return InCluster(options);
  return Fail(
      Code::kNotFound,
      "no cluster is known: give --kubeconfig FILE, set KUBECONFIG to a file that exists, write "
      "~/.kube/config, or run in a pod (looked at: {})",
      fmt::join(paths, ", "));
}

}  // namespace sky::kube
