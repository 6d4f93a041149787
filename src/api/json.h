// SPDX-License-Identifier: Apache-2.0
// JSON both ways for every API type, driven by the types' own Fields(). Reading is simdjson's DOM
// (an object from outside is checked to its end); writing is canonical: members in Fields() order.
// Decode reads kinds, not lists of them; a wrong type of a known member is an error that names its
// path
// ("spec.containers[0].resources.requests.cpu: …"); null reads as absent; unknown members are
// skipped, or kept where the type has an Extra. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "api/core.h"
#include "api/crds.h"
#include "api/pod.h"
#include "api/volumes.h"
#include "base/result.h"

namespace sky::api {

// Instantiated in json_core.cc, json_crds.cc, json_pod.cc and json_volumes.cc for every kind in the
// headers of these names, and for ObjectMeta, QuotaTerms, QuotaStatus, PodGroupStatus, QueueStatus,
// NodeTopologySpec.
template <class T>
Result<T> Decode(std::string_view json);

// Without apiVersion and kind for parts; with both for whole objects (see kinds.h). Zero members
// are left out, so the text replaces an object; as a merge patch it would not clear what became
// zero.
template <class T>
std::string Encode(const T& value);

// `text` as a JSON string with its quotes.
std::string Quote(std::string_view text);

}  // namespace sky::api
