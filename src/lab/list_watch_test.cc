// SPDX-License-Identifier: Apache-2.0
// Lists and watches: revisions, pages, selectors, bookmarks, expiry.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using std::chrono::seconds;

Texts NamesOf(const Json& list) {
  Texts names;
  for (const Json& item : list["items"]) names.push_back(TextAt(item, {"metadata", "name"}));
  return names;
}

std::string RevisionOf(const Json& document) {
  return TextAt(document, {"metadata", "resourceVersion"});
}

TEST(List, IsTypedAndCarriesTheRevision) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("b"));
  c.Make(kQuotas, c.Quota("a"));
  const Json list = c.Get(kQuotas);
  EXPECT_EQ(TextAt(list, {"kind"}), "QuotaList");
  EXPECT_EQ(TextAt(list, {"apiVersion"}), "scheduling.infini-ai.com/v1alpha1");
  EXPECT_EQ(RevisionOf(list), std::to_string(c.api->revision()));
  EXPECT_EQ(NamesOf(list), (Texts{"a", "b"}));
}

TEST(List, PagesShowOneMomentWhateverIsWrittenBetween) {
  TestCluster c;
  for (const char* name : {"a", "b", "c", "d", "e"}) c.Make(kQuotas, c.Quota(name));
  const Json first = c.Get(kQuotas + "?limit=2");
  EXPECT_EQ(NamesOf(first), (Texts{"a", "b"}));
  EXPECT_EQ(IntAt(first, {"metadata", "remainingItemCount"}), 3);
  c.Make(kQuotas, c.Quota("bb"));
  c.client->Delete(kQuotas + "/d");
  const std::string token = TextAt(first, {"metadata", "continue"});
  const Json second = c.Get(kQuotas + "?limit=2&continue=" + token);
  EXPECT_EQ(NamesOf(second), (Texts{"c", "d"}));
  EXPECT_EQ(RevisionOf(second), RevisionOf(first));
  const Json third =
      c.Get(kQuotas + "?limit=2&continue=" + TextAt(second, {"metadata", "continue"}));
  EXPECT_EQ(NamesOf(third), Texts{"e"});
  EXPECT_EQ(TextAt(third, {"metadata", "continue"}), "");
  EXPECT_EQ(c.client->Get(kQuotas + "?limit=2&resourceVersion=1&continue=" + token).status, 400);
  EXPECT_EQ(c.client->Get(kQuotas + "?limit=2&continue=zz").status, 400);
  EXPECT_EQ(c.client->Get(kQuotas + "?limit=two").status, 400);
  c.api->Compact();
  const Reply expired = c.client->Get(kQuotas + "?limit=2&continue=" + token);
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(TextAt(expired.json(), {"reason"}), "Expired");
}

TEST(List, TakesResourceVersionsAsAskedFor) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("a"));
  const std::string then = std::to_string(c.api->revision());
  c.Make(kQuotas, c.Quota("b"));
  const auto names = [&](const std::string& query) {
    return NamesOf(c.Get(kQuotas + "?" + query));
  };
  const auto status = [&](const std::string& query) {
    return c.client->Get(kQuotas + "?" + query).status;
  };
  EXPECT_EQ(names("resourceVersion=0"), (Texts{"a", "b"}));
  EXPECT_EQ(names("resourceVersion=0&limit=1"), (Texts{"a", "b"}));  // whole, as from a watch cache
  EXPECT_EQ(names("resourceVersion=" + then), (Texts{"a", "b"}));
  EXPECT_EQ(names("resourceVersion=" + then + "&resourceVersionMatch=NotOlderThan"),
            (Texts{"a", "b"}));
  EXPECT_EQ(names("resourceVersion=" + then + "&resourceVersionMatch=Exact"), Texts{"a"});
  EXPECT_EQ(status("resourceVersionMatch=Exact"), 422);
  EXPECT_EQ(status("resourceVersion=0&resourceVersionMatch=Exact"), 422);
  EXPECT_EQ(status("resourceVersion=1&resourceVersionMatch=Newest"), 422);
  EXPECT_EQ(status("resourceVersion=abc"), 400);
  const Reply future = c.client->Get(kQuotas + "?resourceVersion=99999");
  EXPECT_EQ(future.status, 504);
  EXPECT_EQ(TextAt(future.json()["details"]["causes"][0], {"reason"}), "ResourceVersionTooLarge");
  EXPECT_EQ(IntAt(future.json(), {"details", "retryAfterSeconds"}), 1);
  c.api->Compact();
  EXPECT_EQ(status("resourceVersion=" + then + "&resourceVersionMatch=Exact"), 410);
}

TEST(List, SelectsByLabelsAndFields) {
  TestCluster c;
  for (const auto& [name, app] : {std::pair("a", "x"), std::pair("b", "y"), std::pair("c", "")}) {
    Json pod = c.Pod(name);
    if (*app != 0) pod["metadata"]["labels"] = {{"app", app}};
    c.Make(kPods, pod);
  }
  ASSERT_EQ(c.Bind("b", "n1").status, 201);
  const auto names = [&](const std::string& query) { return NamesOf(c.Get(kPods + "?" + query)); };
  EXPECT_EQ(names("labelSelector=app%3Dx"), Texts{"a"});
  EXPECT_EQ(names("labelSelector=app"), (Texts{"a", "b"}));
  EXPECT_EQ(names("labelSelector=%21app"), Texts{"c"});
  EXPECT_EQ(names("labelSelector=app+notin+(x)"), (Texts{"b", "c"}));
  EXPECT_EQ(names("fieldSelector=spec.nodeName%3Dn1"), Texts{"b"});
  EXPECT_EQ(names("fieldSelector=spec.nodeName%3D"), (Texts{"a", "c"}));
  EXPECT_EQ(names("fieldSelector=spec.nodeName%21%3Dn1,metadata.name%3Da"), Texts{"a"});
  EXPECT_EQ(names("fieldSelector=status.phase%3DPending,spec.schedulerName%3Ddefault-scheduler"),
            (Texts{"a", "b", "c"}));
  EXPECT_EQ(c.client->Get(kPods + "?fieldSelector=spec.foo%3Dx").status, 400);
  EXPECT_EQ(c.client->Get(kQuotas + "?fieldSelector=spec.queueName%3Dx").status, 400);
  EXPECT_EQ(c.client->Get(kPods + "?labelSelector=a+b").status, 400);
}

TEST(Watch, TellsEveryChangeAfterARevision) {
  TestCluster c;
  const std::string from = std::to_string(c.api->revision());
  c.Make(kQuotas, c.Quota("a"));
  Watcher watcher(c, kQuotas + "?watch=true&resourceVersion=" + from);
  EXPECT_EQ(watcher.Take(), Texts{"ADDED a"});
  c.client->Patch(InProcess::PatchType::kMerge, kQuotas + "/a",
                  J(R"({"metadata":{"labels":{"x":"y"}}})"));
  c.client->Delete(kQuotas + "/a");
  c.Make(kPods, c.Pod("p"));  // another kind
  ASSERT_EQ(watcher.events().size(), 2u);
  EXPECT_EQ(RevisionOf(J(watcher.events()[1].object)), std::to_string(c.api->revision() - 1));
  EXPECT_EQ(watcher.Take(), (Texts{"MODIFIED a", "DELETED a"}));
}

TEST(Watch, WithoutARevisionBeginsWithWhatIsThere) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("a"));
  for (const char* query : {"?watch=1", "?watch=1&resourceVersion=0"}) {
    Watcher watcher(c, kQuotas + query);
    EXPECT_EQ(watcher.Take(), Texts{"ADDED a"});
  }
}

TEST(Watch, StreamsAListThatEndsInAMarkedBookmark) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("a"));
  c.Make(kQuotas, c.Quota("b"));
  const std::string query =
      "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  for (const std::string& revision : {std::string(), std::to_string(c.api->revision() - 1)}) {
    Watcher watcher(c, kQuotas + query + "&resourceVersion=" + revision);
    ASSERT_EQ(watcher.events().size(), 3u);
    const Json bookmark = J(watcher.events()[2].object);
    EXPECT_EQ(TextAt(bookmark, {"metadata", "annotations", "k8s.io/initial-events-end"}), "true");
    EXPECT_EQ(RevisionOf(bookmark), std::to_string(c.api->revision()));
    EXPECT_EQ(watcher.Take(), (Texts{"ADDED a", "ADDED b", "BOOKMARK"}));
  }
  Watcher unmarked(c,
                   kQuotas + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(unmarked.Take(), (Texts{"ADDED a", "ADDED b"})) << "who wants no bookmarks gets none";
  Watcher later(c, kQuotas + "?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(later.Take(), Texts{});
  const auto refused = [&](const std::string& options) {
    return Watcher(c, kQuotas + "?watch=1&" + options).failure().code;
  };
  EXPECT_EQ(refused("sendInitialEvents=true"), 422);
  EXPECT_EQ(refused("resourceVersion=1&resourceVersionMatch=NotOlderThan"), 422);
  EXPECT_EQ(
      refused("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
              "&resourceVersion=99999"),
      504);
  EXPECT_EQ(refused("timeoutSeconds=x"), 400);
}

TEST(Watch, SaysThatARevisionIsExpiredInsideTheStream) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("a"));
  c.api->Compact();
  c.Make(kQuotas, c.Quota("b"));
  Watcher watcher(c, kQuotas + "?watch=1&resourceVersion=2");
  EXPECT_EQ(watcher.Take(), Texts{"ERROR 410"});
  EXPECT_TRUE(watcher.ended());
}

TEST(Watch, OfAFutureRevisionIsToldSo) {
  TestCluster c;
  Watcher watcher(c, kQuotas + "?watch=1&resourceVersion=" + std::to_string(c.api->revision() + 1));
  EXPECT_EQ(watcher.failure().code, 504);
  EXPECT_EQ(watcher.failure().reason, "Timeout");
  EXPECT_EQ(watcher.failure().retry_after_seconds, 1);
  EXPECT_EQ(watcher.failure().causes.at(0).reason, "ResourceVersionTooLarge");
  Watcher present(c, kQuotas + "?watch=1&resourceVersion=" + std::to_string(c.api->revision()));
  c.Make(kQuotas, c.Quota("a"));
  EXPECT_EQ(present.Take(), Texts{"ADDED a"});
}

TEST(Watch, OfARevisionOfAnEarlierLifeIsExpired) {
  TestCluster c({.first_revision = 1'000'000});
  EXPECT_GT(c.api->revision(), 1'000'000);
  Watcher watcher(c, kQuotas + "?watch=1&resourceVersion=999999");
  EXPECT_EQ(watcher.Take(), Texts{"ERROR 410"});
  EXPECT_EQ(c.client->Get(kQuotas + "?resourceVersion=999999&resourceVersionMatch=Exact").status,
            410);
  c.Get(kQuotas + "?resourceVersion=999999");  // not older than that: the present is
}

TEST(Watch, OfASelectionTellsWhatEntersAndLeavesIt) {
  TestCluster c;
  c.Make(kPods, c.Pod("p"));
  const std::string from = std::to_string(c.api->revision());
  Watcher unbound(c, kPods + "?watch=1&fieldSelector=spec.nodeName%3D&resourceVersion=" + from);
  Watcher on_node(c, kPods + "?watch=1&fieldSelector=spec.nodeName%3Dn1&resourceVersion=" + from);
  Watcher one(c, kPods + "/p?watch=1&resourceVersion=" + from);
  c.Bind("p", "n1");
  const Json left = J(unbound.events().at(0).object);
  EXPECT_EQ(TextAt(left, {"spec", "nodeName"}), "");
  EXPECT_EQ(RevisionOf(left), std::to_string(c.api->revision()));
  EXPECT_EQ(unbound.Take(), Texts{"DELETED p"});
  EXPECT_EQ(on_node.Take(), Texts{"ADDED p"});
  EXPECT_EQ(one.Take(), Texts{"MODIFIED p"});
}

TEST(Watch, SendsBookmarksByTheClockAndOneBeforeItEnds) {
  TestCluster c({.bookmark_every = seconds(60)});
  Watcher quiet(c, kQuotas + "?watch=1&resourceVersion=1&timeoutSeconds=100");
  Watcher watcher(
      c, kQuotas + "?watch=1&resourceVersion=1&timeoutSeconds=100&allowWatchBookmarks=true");
  c.api->Tick();
  EXPECT_EQ(watcher.Take(), Texts{});
  EXPECT_EQ(c.api->next_due(), c.clock.Mono() + seconds(60));
  c.clock.Advance(seconds(60));
  c.api->Tick();
  EXPECT_EQ(watcher.Take(), Texts{"BOOKMARK"});
  EXPECT_EQ(c.api->next_due(), c.clock.Mono() + seconds(38));
  c.clock.Advance(seconds(38));
  c.api->Tick();
  c.api->Tick();
  EXPECT_EQ(watcher.Take(), Texts{"BOOKMARK"});
  EXPECT_FALSE(watcher.ended());
  c.clock.Advance(seconds(2));
  c.api->Tick();
  EXPECT_TRUE(watcher.ended() && quiet.ended());
  EXPECT_EQ(quiet.Take(), Texts{});
}

TEST(Watch, EndsByItselfAfterHalfAnHourToAnHour) {
  TestCluster c;
  Watcher watcher(c, kQuotas + "?watch=1");
  EXPECT_GE(c.api->next_due(), c.clock.Mono() + seconds(1800));
  EXPECT_LT(c.api->next_due(), c.clock.Mono() + seconds(3600));
}

TEST(Watch, EndsProperlyWhenTheServerClosesIt) {
  TestCluster c;
  Watcher watcher(c, kQuotas + "?watch=1");
  c.api->CloseWatches();
  EXPECT_TRUE(watcher.ended());
  c.Make(kQuotas, c.Quota("a"));
  EXPECT_EQ(watcher.Take(), Texts{});
}

// Any run of writes: a list, or a list of an older moment and the watch from there, tell one state.
RC_GTEST_PROP(ListAndWatch, TellOneStateFromEveryRevision, ()) {
  TestCluster c;
  std::map<std::string, Json> moments;  // revision → list
  std::map<std::string, std::unique_ptr<Watcher>> followers;
  const auto remember = [&] {
    const Json list = c.Get(kQuotas + "?labelSelector=side%21%3Dleft");
    const std::string revision = RevisionOf(list);
    if (!moments.contains(revision))
      followers[revision] = std::make_unique<Watcher>(
          c, kQuotas + "?watch=1&labelSelector=side%21%3Dleft&resourceVersion=" + revision);
    moments[revision] = list;
  };
  remember();
  const int steps = *rc::gen::inRange(1, 16);
  for (int i = 0; i < steps; ++i) {
    const std::string name = *rc::gen::element<std::string>("a", "b", "c");
    const std::string side = *rc::gen::element<std::string>("left", "right");
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        c.client->Post(kQuotas, c.Quota(name));
        break;
      case 1:
        c.client->Delete(kQuotas + "/" + name);
        break;
      default:
        c.client->Patch(
            InProcess::PatchType::kMerge, kQuotas + "/" + name,
            {{"metadata", {{"labels", {{"side", side}, {"step", std::to_string(i)}}}}}});
    }
    if (*rc::gen::inRange(0, 3) == 0) remember();
  }
  const Json now = c.Get(kQuotas + "?labelSelector=side%21%3Dleft");
  const auto state_of = [](const Json& list) {
    std::map<std::string, Json> state;
    for (const Json& item : list["items"]) state[TextAt(item, {"metadata", "name"})] = item;
    return state;
  };
  for (auto& [revision, list] : moments) {
    // Told again later, and followed live.
    Watcher late(c, kQuotas + "?watch=1&labelSelector=side%21%3Dleft&resourceVersion=" + revision);
    for (Watcher* watcher : {&late, followers[revision].get()}) {
      std::map<std::string, Json> state = state_of(list);
      for (const WatchEvent& event : watcher->events()) {
        const Json object = J(event.object);
        const std::string name = TextAt(object, {"metadata", "name"});
        RC_ASSERT((event.type == "ADDED") == !state.contains(name));
        if (event.type == "DELETED")
          state.erase(name);
        else
          state[name] = object;
      }
      // The state object includes its labels, so a missed change would show.
      RC_ASSERT(state == state_of(now));
    }
    RC_ASSERT(c.Get(kQuotas +
                    "?labelSelector=side%21%3Dleft&resourceVersionMatch=Exact&resourceVersion=" +
                    revision) == list);
  }
}

}  // namespace
}  // namespace sky::lab
