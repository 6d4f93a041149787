// SPDX-License-Identifier: Apache-2.0
#include "kube/object_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sky::kube {
namespace {

std::string Queue(const std::string& name, const std::string& uid, const std::string& version,
                  const std::string& weight = "1") {
  return R"({"metadata":{"name":")" + name + R"(","uid":")" + uid + R"(","resourceVersion":")" +
         version + R"("},"spec":{"weight":)" + weight + "}}";
}
std::string BadQueue(const std::string& name, const std::string& uid, const std::string& version) {
  return Queue(name, uid, version, "\"heavy\"");
}

class ObjectStoreTest : public ::testing::Test {
 protected:
  static InformerCallbacks<api::Queue> Callbacks(std::vector<std::string>& log) {
    InformerCallbacks<api::Queue> callbacks;
    callbacks.on_delta = [&log](const api::Delta<api::Queue>& delta) {
      using Type = api::Delta<api::Queue>::Type;
      const auto say = [](const auto& object) {
        return object->metadata.uid + "@" + object->metadata.resource_version;
      };
      const std::string old = delta.old != nullptr ? say(delta.old) + ">" : "";
      const char* type = delta.type == Type::kAdd      ? "add "
                         : delta.type == Type::kUpdate ? "update "
                                                       : "delete ";
      log.push_back(type + old + say(delta.object));
    };
    callbacks.on_synced = [&log] { log.emplace_back("synced"); };
    callbacks.on_bad = [&log](const std::string& key, const std::optional<BadItem>& bad) {
      log.push_back((bad ? "bad " : "good ") + key);
    };
    return callbacks;
  }

  std::vector<std::string> Take() { return std::exchange(log_, {}); }
  using Log = std::vector<std::string>;

  void Replace(const std::vector<std::string>& objects, bool restarted = false) {
    store_.BeginReplace();
    for (const std::string& object : objects) store_.Upsert(object);
    store_.EndReplace(restarted);
  }

  Log log_;
  ObjectStore<api::Queue> store_{Callbacks(log_)};
};

TEST_F(ObjectStoreTest, TheFirstSetComesAsAddsAndThenSynced) {
  EXPECT_FALSE(store_.HasSynced());
  store_.BeginReplace();
  EXPECT_EQ(store_.Upsert(Queue("a", "u1", "5")), "5");
  EXPECT_TRUE(log_.empty());
  EXPECT_FALSE(store_.HasSynced());
  store_.EndReplace(false);
  EXPECT_EQ(Take(), (Log{"add u1@5", "synced"}));
  EXPECT_TRUE(store_.HasSynced());
  Replace({Queue("a", "u1", "5")});
  EXPECT_EQ(Take(), Log{}) << "an unchanged object says nothing, and synced comes once";
}

TEST_F(ObjectStoreTest, ChangesAreToldWithTheirOldState) {
  Replace({});
  store_.Upsert(Queue("a", "u1", "1"));
  store_.Upsert(Queue("a", "u1", "2"));
  store_.Upsert(Queue("a", "u1", "2"));
  EXPECT_EQ(store_.Remove(Queue("a", "u1", "3")), "3");
  EXPECT_EQ(Take(), (Log{"synced", "add u1@1", "update u1@1>u1@2", "delete u1@2>u1@3"}));
  EXPECT_TRUE(store_.objects().empty());
}

TEST_F(ObjectStoreTest, ANewUidUnderAnOldNameIsADeleteAndAnAdd) {
  Replace({Queue("a", "u1", "1")});
  store_.Upsert(Queue("a", "u2", "2"));
  EXPECT_EQ(Take(), (Log{"add u1@1", "synced", "delete u1@1>u1@1", "add u2@2"}));
  Replace({Queue("a", "u3", "3")});
  EXPECT_EQ(Take(), (Log{"delete u2@2>u2@2", "add u3@3"}));
}

TEST_F(ObjectStoreTest, ALateDeleteOfAnOldUidChangesNothing) {
  Replace({Queue("a", "u2", "2")});
  Take();
  store_.Remove(Queue("a", "u1", "9"));
  store_.Remove(Queue("b", "u1", "9"));
  EXPECT_EQ(Take(), Log{});
  EXPECT_EQ(store_.objects().size(), 1u);
}

TEST_F(ObjectStoreTest, WhatANewSetNoLongerShowsIsDeletedFirst) {
  Replace({Queue("a", "u1", "1"), Queue("c", "u3", "1")});
  Take();
  Replace({Queue("b", "u2", "4"), Queue("c", "u3", "3")});
  EXPECT_EQ(Take(), (Log{"delete u1@1>u1@1", "add u2@4", "update u3@1>u3@3"}));
}

TEST_F(ObjectStoreTest, WhenVersionsBeganAnewAKnownOneSaysNothing) {
  Replace({Queue("a", "u1", "1"), Queue("b", "u2", "1")});
  Take();
  Replace({Queue("a", "u1", "1", "5"), Queue("b", "u3", "1")}, true);
  EXPECT_EQ(Take(), (Log{"delete u2@1>u2@1", "update u1@1>u1@1", "add u3@1"}));
  EXPECT_EQ(store_.objects().at("a")->spec.weight, 5);
}

TEST_F(ObjectStoreTest, ASetThatWasNotFinishedLeavesNoTrace) {
  Replace({Queue("a", "u1", "1")});
  Take();
  store_.BeginReplace();
  store_.Upsert(Queue("b", "u2", "2"));
  Replace({Queue("a", "u1", "1")});
  EXPECT_EQ(Take(), Log{});
}

TEST_F(ObjectStoreTest, ChangesWithinANewSetCountForIt) {
  Replace({Queue("a", "u1", "1")});
  Take();
  store_.BeginReplace();
  store_.Upsert(Queue("a", "u1", "1"));
  store_.Upsert(Queue("b", "u2", "2"));
  store_.Upsert(Queue("a", "u1", "3"));
  store_.Remove(Queue("b", "u2", "4"));
  store_.Remove(Queue("a", "u0", "4"));
  store_.EndReplace(false);
  EXPECT_EQ(Take(), (Log{"update u1@1>u1@3"}));
}

TEST_F(ObjectStoreTest, ABadObjectIsReportedAndItsLastGoodStateStays) {
  Replace({Queue("a", "u1", "1")});
  EXPECT_EQ(store_.Upsert(BadQueue("a", "u1", "2")), "2");
  store_.Upsert(BadQueue("b", "u2", "3"));
  EXPECT_EQ(Take(), (Log{"add u1@1", "synced", "bad a", "bad b"}));
  store_.Upsert(Queue("a", "u1", "4"));
  store_.Upsert(Queue("b", "u2", "5"));
  EXPECT_EQ(Take(), (Log{"good a", "update u1@1>u1@4", "good b", "add u2@5"}));
}

TEST_F(ObjectStoreTest, ABadObjectOfANewUidEndsTheOldOne) {
  Replace({Queue("a", "u1", "1")});
  Take();
  store_.Upsert(BadQueue("a", "u2", "2"));
  EXPECT_EQ(Take(), (Log{"delete u1@1>u1@1", "bad a"}));
  store_.Remove(BadQueue("a", "u1", "3"));
  EXPECT_EQ(Take(), Log{}) << "that life had ended before";
  store_.Remove(BadQueue("a", "u2", "4"));
  EXPECT_EQ(Take(), (Log{"good a"}));
}

TEST_F(ObjectStoreTest, ABadObjectThatIsDeletedTakesItsLastGoodStateAlong) {
  Replace({Queue("a", "u1", "1")});
  store_.Upsert(BadQueue("a", "u1", "2"));
  Take();
  store_.Remove(BadQueue("a", "u1", "3"));
  EXPECT_EQ(Take(), (Log{"delete u1@1>u1@1", "good a"}));
}

TEST_F(ObjectStoreTest, ANewSetKeepsAndClearsBadObjectsByTheSameRules) {
  Replace({Queue("a", "u1", "1"), BadQueue("b", "u2", "1"), BadQueue("c", "u3", "1"),
           Queue("d", "u4", "1")});
  EXPECT_EQ(Take(), (Log{"add u1@1", "bad b", "bad c", "add u4@1", "synced"}));
  Replace({BadQueue("a", "u1", "2"), Queue("b", "u2", "2"), BadQueue("d", "u5", "2")});
  EXPECT_EQ(Take(), (Log{"delete u4@1>u4@1", "good c", "bad a", "good b", "add u2@2", "bad d"}));
}

TEST_F(ObjectStoreTest, AnObjectWithoutIdentityIsReportedAndNothingElse) {
  Replace({Queue("a", "u1", "1")});
  Take();
  EXPECT_EQ(store_.Upsert(R"({"metadata":{"name":5},"spec":{}})"), "");
  EXPECT_EQ(store_.Upsert("{}"), "");
  EXPECT_EQ(Take(), (Log{"bad ?", "bad ?"}));
  EXPECT_EQ(store_.objects().size(), 1u);
}

}  // namespace
}  // namespace sky::kube
