// SPDX-License-Identifier: Apache-2.0
// Any document: it loads or is refused with a position; what loads prints to a document that loads
// to an equal configuration.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "framework/config.h"

namespace {

using namespace sky::framework;

const KnownNames& Known() {
  static const KnownNames known = [] {
    KnownNames names;
    names.plugins = {{"gang", {}, {"preemptable", "jobReady"}},
                     {"topology",
                      {{"algorithms", ArgType::kInts},
                       {"on", ArgType::kBool},
                       {"n", ArgType::kInt},
                       {"w", ArgType::kDecimal},
                       {"t", ArgType::kText},
                       {"d", ArgType::kDuration},
                       {"l", ArgType::kTexts},
                       {"any", ArgType::kTree}},
                      {}}};
    names.actions = {"allocateJob", "bind"};
    return names;
  }();
  return known;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto loaded = LoadConfig({reinterpret_cast<const char*>(data), size}, "f", Known());
  if (!loaded) {
    SKY_CHECK(loaded.error().message().starts_with("f:"), "{}", loaded.error().message());
    return 0;
  }
  const std::string printed = PrintConfig(loaded->config);
  const auto again = LoadConfig(printed, "again", Known());
  SKY_CHECK(again.has_value(), "{}\n{}", again.error().message(), printed);
  SKY_CHECK(again->config == loaded->config, "{}", printed);
  return 0;
}
