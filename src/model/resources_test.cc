// SPDX-License-Identifier: Apache-2.0
#include "model/resources.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace sky::model {
namespace {

struct Amounts {
  ResourceNames names;
  ResourceId gpu = names.Intern("nvidia.com/gpu"), hca = names.Intern("rdma/hca");
  Resources Of(int64_t cpu, int64_t gpus, int64_t hcas = 0) const {
    Resources amounts;
    amounts.Set(ResourceNames::kCpu, cpu);
    amounts.Set(gpu, gpus);
    amounts.Set(hca, hcas);
    return amounts;
  }
};

using Map = std::map<ResourceId, int64_t>;

// A few of many names, in any order.
rc::Gen<Map> AnyMap() {
  return rc::gen::map(rc::gen::container<std::vector<std::pair<size_t, int64_t>>>(rc::gen::pair(
                          rc::gen::inRange<size_t>(0, 16), rc::gen::inRange<int64_t>(-3, 4))),
                      [](const std::vector<std::pair<size_t, int64_t>>& raw) {
                        Map map;
                        for (const auto& [name, value] : raw) map[ResourceId(name)] = value;
                        return map;
                      });
}

Resources FromMap(const Map& map) {
  Resources amounts;
  for (auto at = map.rbegin(); at != map.rend(); ++at) amounts.Set(at->first, at->second);
  return amounts;
}

rc::Gen<Resources> AnyAmounts() { return rc::gen::map(AnyMap(), FromMap); }

// Name by name, with nothing but a map.
RC_GTEST_PROP(Resources, AreWhatAMapOfAmountsIs, ()) {
  Map a = *AnyMap(), b = *AnyMap();
  const Resources x = FromMap(a), y = FromMap(b);
  const Resources sum = x + y, difference = x - y, most = Resources::Max(x, y);
  bool less = false;
  size_t kept = 0;
  for (size_t i = 0; i < 16; ++i) {
    const ResourceId name(i);
    RC_ASSERT(x[name] == a[name]);
    RC_ASSERT(sum[name] == a[name] + b[name]);
    RC_ASSERT(difference[name] == a[name] - b[name]);
    RC_ASSERT(most[name] == std::max(a[name], b[name]));
    less = less || a[name] < b[name];
    kept += a[name] + b[name] != 0 ? 1 : 0;
  }
  RC_ASSERT(AnyLess(x, y) == less);
  RC_ASSERT(static_cast<size_t>(std::distance(sum.begin(), sum.end())) == kept);
  RC_ASSERT(std::is_sorted(sum.begin(), sum.end(), [](const Amount& one, const Amount& two) {
    return one.name < two.name;
  }));
}

RC_GTEST_PROP(Resources, SumsDontDependOnOrderAndTakingAwayUndoesAdding, ()) {
  const Resources a = *AnyAmounts(), b = *AnyAmounts(), c = *AnyAmounts();
  RC_ASSERT(a + b == b + a);
  RC_ASSERT((a + b) + c == a + (b + c));
  RC_ASSERT((a + b) - b == a);
  RC_ASSERT(Resources::Max(a, b) == Resources::Max(b, a));
  RC_ASSERT(Resources::Max(a, a) == a);
}

RC_GTEST_PROP(Resources, WhatFitsTimesNFitsAsOneSum, ()) {
  const Amounts said;
  Resources request = said.Of(*rc::gen::inRange(0, 3000), *rc::gen::inRange(0, 3000)), sum;
  const Resources room = said.Of(*rc::gen::inRange(0, 20000), *rc::gen::inRange(0, 20000));
  const int64_t times = TimesFit(request, room, said.names, 8);
  for (int64_t i = 0; i < times; ++i) sum += request;
  RC_ASSERT(times >= 0 && times <= 8);
  RC_ASSERT(Fits(sum, room, said.names));
  if (times < 8) RC_ASSERT(!Fits(sum + request, room, said.names));
}

TEST(Resources, AmountsSaturateInsteadOfTurningRound) {
  const Amounts said;
  const Resources most = said.Of(INT64_MAX, INT64_MAX), least = said.Of(INT64_MIN, INT64_MIN);
  EXPECT_EQ(most + most, most);
  EXPECT_EQ(least - most, least);
  EXPECT_FALSE(Fits(most, said.Of(8, 8), said.names));
  EXPECT_EQ(TimesFit(said.Of(1, 1), most, said.names, 5), 5);
}

TEST(Resources, OnlyWhatIsAskedIsCompared) {
  const Amounts said;
  EXPECT_TRUE(Fits(said.Of(0, 1000), said.Of(-5000, 1000), said.names));
  EXPECT_EQ(FirstMissing(said.Of(1, 9000), said.Of(1, 8000), said.names), said.gpu);
  EXPECT_EQ(FirstMissing(said.Of(2, 9000), said.Of(1, 8000), said.names), ResourceNames::kCpu);
  EXPECT_EQ(TimesFit(Resources{}, Resources{}, said.names, 7), 7);
}

TEST(Resources, ScalarsForgiveLessThanAHundredthAndCpuForgivesNothing) {
  const Amounts said;
  EXPECT_TRUE(Fits(said.Of(0, 1000), said.Of(0, 991), said.names));
  EXPECT_FALSE(Fits(said.Of(0, 1000), said.Of(0, 990), said.names));
  EXPECT_FALSE(Fits(said.Of(1000, 0), said.Of(999, 0), said.names));
}

TEST(Resources, AListReadsBackAsItWasWritten) {
  ResourceNames names;
  api::ResourceList list;
  for (const auto& [name, text] :
       {std::pair("cpu", "1500m"), std::pair("memory", "64Gi"), std::pair("nvidia.com/gpu", "8")})
    list.emplace(name, *api::Quantity::Parse(text));
  EXPECT_EQ(ToList(FromList(list, names), names), list);
  list.emplace("rdma/hca", api::Quantity::Units(0));
  EXPECT_EQ(ToList(FromList(list, names), names).contains("rdma/hca"), false);
}

TEST(Resources, APartOfAThousandthIsRoundedUp) {
  ResourceNames names;
  api::ResourceList list;
  list.emplace("cpu", *api::Quantity::Parse("100u"));
  EXPECT_EQ(FromList(list, names)[ResourceNames::kCpu], 1);
}

}  // namespace
}  // namespace sky::model
