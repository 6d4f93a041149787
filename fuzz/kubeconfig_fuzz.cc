// SPDX-License-Identifier: Apache-2.0
// Any text as a kubeconfig: an Access with a server, or an error that says something.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "kube/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const sky::kube::KubeconfigText file{"/etc/config",
                                       std::string(reinterpret_cast<const char*>(data), size)};
  const auto access = sky::kube::SelectAccess({&file, 1}, "");
  if (access)
    SKY_CHECK(!access->server.empty());
  else
    SKY_CHECK(!access.error().message().empty());
  return 0;
}
