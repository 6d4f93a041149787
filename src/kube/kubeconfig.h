// SPDX-License-Identifier: Apache-2.0
// Which API server, and who we are: --kubeconfig, else $KUBECONFIG (several files, merged), else
// ~/.kube/config, else the pod's service account. What we can't do (exec plugins, basic auth, auth
// providers, impersonation) is an error that says so, never a silent walk on with fewer or more
// rights. Read once at the start; files that tokens and certificates stand in are read again
// (credentials.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sky::kube {

// A certificate, key or token: its text, or the file that holds it. Both empty: there is none.
struct Material {
  std::string text, file;
  bool empty() const { return text.empty() && file.empty(); }
  bool operator==(const Material&) const = default;
};

struct Access {
  std::string server;  // "https://10.0.0.1:6443" or with a path behind it, no slash at the end
  std::string
      tls_server_name;  // the name in the server's certificate when it isn't the host of `server`
  std::string proxy_url;
  bool insecure_skip_tls_verify = false;
  Material ca;  // PEM; empty: the system's
  Material client_certificate, client_key, token;
  std::string namespace_ = "default";
  std::string origin;  // for messages: "context dev of ~/.kube/config", "the pod's service account"
};

struct AccessOptions {
  std::string kubeconfig;      // a file that must exist; empty: search
  std::string context;         // empty: current-context
  std::string kubeconfig_env;  // $KUBECONFIG: files separated by ':'; missing ones are skipped
  std::string home;            // $HOME
  std::string service_host, service_port;  // $KUBERNETES_SERVICE_HOST, …_PORT
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";

  static AccessOptions FromEnvironment(std::string kubeconfig);
};

Result<Access> LoadAccess(const AccessOptions& options);

// The pure part: the first file that defines a cluster, user, context or current-context wins;
// relative paths are relative to the directory of the file they stand in.
struct KubeconfigText {
  std::string path, text;
};
Result<Access> SelectAccess(std::span<const KubeconfigText> files, std::string_view context);

}  // namespace sky::kube
