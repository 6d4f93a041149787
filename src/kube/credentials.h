// SPDX-License-Identifier: Apache-2.0
// The token and certificates of an Access as they are now: files are read again, since kubelets and
// administrators replace them under a running program. A file that can't be read leaves the last
// good text in force. Lives in the HttpClient; called on its loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/kubeconfig.h"

namespace sky::kube {

struct TlsMaterial {
  std::string ca, certificate, key;  // PEM, empty when there is none
  bool operator==(const TlsMaterial&) const = default;
};

class Credentials {
 public:
  // Reads every file once; one that can't be read is an error here, not at the first request.
  static Result<Credentials> Load(const Access& access, const Clock& clock);

  // Read again when older than 50 s (a minute less the time a request may take).
  const std::string& Token();
  // The server refused this token: reads the file again, unless that has been done since it was
  // handed out. True when Token() is another one now.
  bool RenewToken(const std::string& refused);
  // Read again at most once a minute. The pointer changes only when the content did.
  std::shared_ptr<const TlsMaterial> Tls();

 private:
  Credentials(const Access& access, const Clock& clock) : access_(access), clock_(&clock) {}
  void ReadTokenAgain();

  Access access_;
  const Clock* clock_;
  std::string token_;
  MonoTime token_read_, tls_read_;
  std::shared_ptr<const TlsMaterial> tls_;
};

}  // namespace sky::kube
