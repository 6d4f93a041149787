// SPDX-License-Identifier: Apache-2.0
#include "model/resources.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

rc::Gen<Resources> AnyAmounts() {
  return rc::gen::map(
      rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(-9'000, 9'001)),
      [](const std::vector<int64_t>& raw) {
        Resources amounts;
        for (size_t i = 0; i < raw.size() && i < 12; ++i) amounts.Set(ResourceId(i), raw[i]);
        return amounts;
      });
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
