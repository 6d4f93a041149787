// SPDX-License-Identifier: Apache-2.0
// A client of the ApiServer without a network: for the objects of files, hollow kubelets in
// process, the virtual-clock driver, and tests. Thread-safe as the server is; must not outlive it.
#pragma once

#include <string>
#include <string_view>

#include "lab/api_server.h"

namespace sky::lab {

struct Reply {
  int status = 0;
  std::string body;
  bool ok() const { return status < 300; }
  Json json() const;            // null when the body isn't JSON
  std::string message() const;  // of a Status
};

class InProcess {
 public:
  InProcess(ApiServer& api, std::string user_agent) : api_(api), agent_(std::move(user_agent)) {}

  Reply Get(std::string_view target, std::string_view accept = "");
  Reply Post(std::string_view target, const Json& body);
  Reply Put(std::string_view target, const Json& body);
  Reply Delete(std::string_view target, const Json* options = nullptr);
  enum class PatchType : uint8_t { kMerge, kJson, kStrategic, kApply };
  Reply Patch(PatchType type, std::string_view target, const Json& body);
  // Any method, body and type.
  Reply Do(std::string_view method, std::string_view target, std::string body,
           std::string_view content_type, std::string_view accept = "");

  // What goes over the wire; a target that can't be parsed is a programming error.
  server::Request MakeRequest(std::string_view method, std::string_view target,
                              std::string body = "", std::string_view content_type = "",
                              std::string_view accept = "") const;

 private:
  ApiServer& api_;
  const std::string agent_;
};

}  // namespace sky::lab
