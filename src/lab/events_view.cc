// SPDX-License-Identifier: Apache-2.0
#include "lab/events_view.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace sky::lab {
namespace {

// core/v1, events.k8s.io/v1
constexpr std::array<std::pair<const char*, const char*>, 7> kNames = {{
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
}};

void Rename(Json& document, const char* from, const char* to) {
  const auto found = document.find(from);
  if (found == document.end()) return;
  Json value = std::move(*found);
  document.erase(found);
  document[to] = std::move(value);
}

}  // namespace

Json ToEventsV1(Json core_event) {
  for (const auto& [core, v1] : kNames) Rename(core_event, core, v1);
  core_event["apiVersion"] = "events.k8s.io/v1";
  return core_event;
}

Json FromEventsV1(Json event) {
  for (const auto& [core, v1] : kNames) Rename(event, v1, core);
  event["apiVersion"] = "v1";
  return event;
}

}  // namespace sky::lab
