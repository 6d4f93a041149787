// SPDX-License-Identifier: Apache-2.0
#include "load/batch.h"

#include <gtest/gtest.h>

#include <vector>

namespace sky::load {
namespace {

using std::chrono::milliseconds;

class BatchTest : public ::testing::Test {
 protected:
  std::shared_ptr<Batch> Start(Batch::Size size) {
    return Batch::Start(loop, size, [this](size_t index, kube::DoneStatus done) {
      sent.push_back(index);
      open.push_back(std::move(done));
    });
  }
  void Answer(Status status = {}) {
    auto done = std::move(open.front());
    open.erase(open.begin());
    done(std::move(status));
    loop.RunReady();
  }
  bool Done(Batch& batch) { return batch.WaitFor(Duration::zero()); }

  ManualClock clock;
  kube::ManualLoop loop{clock};
  std::vector<size_t> sent;
  std::vector<kube::DoneStatus> open;
};

TEST_F(BatchTest, KeepsSoManyUnansweredUntilAllAreSent) {
  const auto batch = Start({4, 2, {}});
  loop.RunReady();
  EXPECT_EQ(sent, (std::vector<size_t>{0, 1}));
  Answer();
  EXPECT_EQ(sent, (std::vector<size_t>{0, 1, 2}));
  Answer(), Answer();
  EXPECT_FALSE(Done(*batch));
  Answer();
  EXPECT_TRUE(Done(*batch));
  EXPECT_EQ(batch->answered(), 4u);
  EXPECT_TRUE(batch->result().has_value());
}

TEST_F(BatchTest, OfNothingIsDoneAtOnce) {
  const auto batch = Start({0, 2, {}});
  loop.RunReady();
  EXPECT_TRUE(Done(*batch));
}

TEST_F(BatchTest, KeepsItsPaceFromTheBeginning) {
  const auto batch = Start({4, 8, milliseconds(10)});
  loop.RunReady();
  EXPECT_EQ(sent.size(), 1u);
  loop.Advance(milliseconds(9));
  EXPECT_EQ(sent.size(), 1u);
  loop.Advance(milliseconds(1));
  EXPECT_EQ(sent.size(), 2u);
  // An answer brings nothing forward.
  Answer();
  EXPECT_EQ(sent.size(), 2u);
  loop.Advance(milliseconds(25));
  EXPECT_EQ(sent.size(), 4u);
  while (!open.empty()) Answer();
  EXPECT_TRUE(Done(*batch));
}

TEST_F(BatchTest, CatchesUpWithItsPaceAfterSlowAnswers) {
  const auto batch = Start({3, 1, milliseconds(10)});
  loop.RunReady();
  loop.Advance(milliseconds(100));
  Answer(), Answer(), Answer();
  EXPECT_TRUE(Done(*batch));
}

TEST_F(BatchTest, EndsWithTheFirstFailureAndWaitsForWhatIsOnItsWay) {
  const auto batch = Start({9, 3, {}});
  loop.RunReady();
  Answer(Fail(Code::kForbidden, "first"));
  Answer(Fail(Code::kForbidden, "second"));
  EXPECT_EQ(sent.size(), 3u);
  EXPECT_FALSE(Done(*batch));
  Answer();
  EXPECT_TRUE(Done(*batch));
  EXPECT_EQ(batch->result().error().message(), "first");
}

TEST_F(BatchTest, AnAbandonedOneSendsNothingMore) {
  const auto batch = Start({9, 2, {}});
  loop.RunReady();
  batch->Abandon();
  loop.RunReady();
  Answer(), Answer();
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_TRUE(Done(*batch));
  EXPECT_EQ(batch->result().error().code(), Code::kCancelled);
}

TEST_F(BatchTest, OneThatWaitsForItsPaceCanBeAbandoned) {
  const auto batch = Start({9, 2, milliseconds(1000)});
  loop.RunReady();
  Answer();
  batch->Abandon();
  loop.RunReady();
  EXPECT_TRUE(Done(*batch));
  loop.Advance(milliseconds(5000));
  EXPECT_EQ(sent.size(), 1u);
}

}  // namespace
}  // namespace sky::load
