// SPDX-License-Identifier: Apache-2.0
// Any text as any kind: it is refused with a message, or the object is written as JSON that reads
// as the same object from then on, and Validate has an answer. The first byte chooses the kind.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/pod_requests.h"
#include "api/validate.h"
#include "base/check.h"

namespace {

using namespace sky::api;

template <class T>
void Check(std::string_view text) {
  const auto object = Decode<T>(text);
  if (!object) {
    SKY_CHECK(!object.error().message().empty());
    return;
  }
  // Writing may settle a value (a fraction of a second goes, "2000" becomes "2k"), but only once.
  const std::string json = Encode(*object);
  const auto again = Decode<T>(json);
  SKY_CHECK(again.has_value(), "{}", json);
  const std::string settled = Encode(*again);
  const auto last = Decode<T>(settled);
  SKY_CHECK(last.has_value() && *last == *again, "{}", settled);
  SKY_CHECK(Encode(*last) == settled, "{}", settled);
  if constexpr (requires { Validate(*object); }) {
    for (const Violation& violation : Validate(*object)) SKY_CHECK(!violation.message.empty());
  }
  if constexpr (std::is_same_v<T, Pod>) PodRequests(*object);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  using Checker = void (*)(std::string_view);
  static constexpr Checker kChecks[] = {Check<Pod>,
                                        Check<Node>,
                                        Check<Lease>,
                                        Check<Event>,
                                        Check<PodDisruptionBudget>,
                                        Check<Quota>,
                                        Check<Queue>,
                                        Check<PodGroup>,
                                        Check<JobQueue>,
                                        Check<NodeTopology>,
                                        Check<Placement>,
                                        Check<QuotaSet>,
                                        Check<PriorityClass>,
                                        Check<PersistentVolumeClaim>,
                                        Check<PersistentVolume>,
                                        Check<StorageClass>,
                                        Check<CSINode>};
  kChecks[data[0] % std::size(kChecks)](text);
  return 0;
}
