// SPDX-License-Identifier: Apache-2.0
#include "model/shelves.h"

#include <gtest/gtest.h>

namespace sky::model {
namespace {

using Place = Shelves::Place;

struct ShelvesTest : ::testing::Test {
  Shelves shelves;
  const ClassId a{0u}, b{1u};

  std::vector<QuotaId> Free(ClassId of) const {
    std::vector<QuotaId> ids;
    if (const Shelf* shelf = shelves.Find(of))
      for (const auto& [key, id] : shelf->free) ids.push_back(id);
    return ids;
  }
};

TEST_F(ShelvesTest, FreeQuotasStandInNaturalOrder) {
  shelves.Note(QuotaId(0u), Place::kFree, a, "q-10");
  shelves.Note(QuotaId(1u), Place::kFree, a, "q-2");
  shelves.Note(QuotaId(2u), Place::kFree, a, "q-02");
  EXPECT_EQ(Free(a), (std::vector<QuotaId>{QuotaId(2u), QuotaId(1u), QuotaId(0u)}));
  EXPECT_EQ(shelves.Find(b), nullptr);
}

TEST_F(ShelvesTest, AShelfGoesWithItsLastQuota) {
  shelves.Note(QuotaId(0u), Place::kHeld, a, "q");
  shelves.Note(QuotaId(0u), Place::kPartial, a, "q");
  EXPECT_TRUE(shelves.Find(a)->held.empty());
  EXPECT_EQ(shelves.Find(a)->partial.size(), 1u);
  shelves.Note(QuotaId(0u), Place::kNone, a, "q");
  EXPECT_EQ(shelves.Find(a), nullptr);
}

// Deleted and made anew between two looks: the name is in two rows for a moment, which are noted in
// the order of their ids, whichever is the older one, and in whatever classes.
TEST_F(ShelvesTest, AQuotaMadeAnewUnderItsNameTakesThePlaceOfTheOldOne) {
  for (const ClassId again : {a, b})
    for (const bool new_first : {true, false}) {
      Shelves fresh;
      const QuotaId old(3u), now(5u);
      fresh.Note(old, Place::kFree, a, "q");
      const auto note = [&](QuotaId id) {
        fresh.Note(id, id == now ? Place::kFree : Place::kNone, id == now ? again : a, "q");
      };
      note(new_first ? now : old);
      note(new_first ? old : now);
      ASSERT_NE(fresh.Find(again), nullptr);
      EXPECT_EQ(fresh.Find(again)->free.begin()->second, now);
      EXPECT_EQ(fresh.Find(again)->free.size(), 1u);
      // And it can go as well.
      fresh.Note(now, Place::kHeld, again, "q");
      fresh.Note(now, Place::kNone, again, "q");
      EXPECT_EQ(fresh.Find(a), nullptr);
      EXPECT_EQ(fresh.Find(b), nullptr);
    }
}

}  // namespace
}  // namespace sky::model
