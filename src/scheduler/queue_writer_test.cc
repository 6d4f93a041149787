// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue_writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sky::scheduler {
namespace {

using nlohmann::json;

api::FlatMap<api::SpecAllocated> Pools(const char* status) {
  api::FlatMap<api::SpecAllocated> pools;
  const json read = json::parse(status);
  for (const auto& [code, sums] : read.items()) {
    api::SpecAllocated& pool = pools[code];
    for (const auto& [member, list] :
         {std::pair("allocatable", &pool.allocatable), std::pair("allocated", &pool.allocated),
          std::pair("shadow", &pool.shadow)})
      if (sums.contains(member))
        for (const auto& [name, amount] : sums[member].items())
          list->emplace(name, *api::Quantity::Parse(amount.get<std::string>()));
  }
  return pools;
}

// What the API holds after the patch.
json Patched(const char* have, const char* want) {
  json document = {{"metadata", {{"uid", "u"}}}, {"status", {{"running", 3}}}};
  document["status"]["specAllocated"] = json::parse(have);
  document.merge_patch(json::parse(QueuePatch({"q", "u", Pools(want), Pools(have)})));
  EXPECT_EQ(document["status"]["running"], 3) << "others' members stay";
  return document["status"].value("specAllocated", json::object());
}

TEST(QueuePatch, MakesTheStatusSayWhatIsWanted) {
  const char* none = "{}";
  const char* one = R"({"a100":{"allocatable":{"gpu":"4"},"allocated":{"gpu":"3"}}})";
  const char* other =
      R"({"h100":{"allocatable":{"gpu":"8","cpu":"1"},"shadow":{"gpu":"2"}},"none":{"allocatable":{"cpu":"1"}}})";
  const char* less = R"({"a100":{"allocatable":{"cpu":"4"}}})";
  for (const char* have : {none, one, other, less})
    for (const char* want : {none, one, other, less})
      EXPECT_EQ(Patched(have, want), json::parse(want)) << have << " → " << want;
}

}  // namespace
}  // namespace sky::scheduler
