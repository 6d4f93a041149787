// SPDX-License-Identifier: Apache-2.0
// Which spot pods may be asked to leave, and when.
#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace sky::cache {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Cluster;

struct SpotPodsTest : ::testing::Test {
  Cluster c{"minRunTime: 5m\n"};
  std::string uid;

  SpotPodsTest() {
    c.Nodes("n0", "gpu=8 spot=8").Pod("s", "spot=1 node=n0");
    uid = c.Get<api::Pod>("default/s").metadata.uid;
  }
  bool MayBeAsked(Duration later) {
    c.Tick(later);
    c.Cycle();
    const model::TaskId id = c.snapshot().tasks().Find(uid);
    return id.valid() && c.snapshot().tasks()[id].evictable;
  }
};

TEST_F(SpotPodsTest, OneIsAskedWhenItHasRunForLongEnough) {
  EXPECT_FALSE(MayBeAsked(minutes(5) - seconds(1)));
  EXPECT_TRUE(MayBeAsked(seconds(1)));
}

TEST_F(SpotPodsTest, OneWhoseEvictionWasRefusedIsLeftAloneForTwiceAsLongEachTime) {
  EXPECT_TRUE(MayBeAsked(minutes(5)));
  for (const int quiet : {1, 2, 4, 8, 16, 16}) {
    c.cache().NoteStays(uid);
    EXPECT_FALSE(MayBeAsked(minutes(quiet) - seconds(1))) << quiet;
    EXPECT_TRUE(MayBeAsked(seconds(1))) << quiet;
  }
}

TEST_F(SpotPodsTest, ItsNamesakeIsAnother) {
  EXPECT_TRUE(MayBeAsked(minutes(5)));
  c.cache().NoteStays(uid);
  c.Remove<api::Pod>("default/s");
  EXPECT_FALSE(MayBeAsked(seconds(1)));
  c.Pod("s", "spot=1 node=n0");
  uid = c.Get<api::Pod>("default/s").metadata.uid;
  EXPECT_TRUE(MayBeAsked(minutes(5)));
}

}  // namespace
}  // namespace sky::cache
