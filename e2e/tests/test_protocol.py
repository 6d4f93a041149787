# SPDX-License-Identifier: Apache-2.0
"""What clients build on: lists in pages, watches, preconditions, patches, refusals. The same questions to the
embedded cluster and to a real one; what differs there is an error of the embedded one."""
import json
import urllib.parse

from harness.case import GROUP, MERGE, NAMESPACE, Case

JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
SPEC = {"queueName": "default", "request": {"nvidia.com/gpu": "1"}}
STREAM_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"


class Protocol(Case):
    def quota(self, name, **metadata):
        quota = self.our_object("quotas", name, SPEC)
        quota["metadata"].update(metadata)
        return quota

    def made(self, name, **metadata):
        return self.create(self.ours("quotas"), self.quota(name, **metadata))

    def status_of(self, method, path, body=None, content_type="application/json"):
        return self.refusal(method, path, body, content_type)[0]

    def refusal(self, method, path, body=None, content_type="application/json"):
        """(code, reason, the fields that are wrong); the reason of what isn't refused is empty."""
        status, answer = self.api.request(method, path, body, content_type)
        if status < 300:
            if method == "POST" and "dryRun" not in path:
                self.remove(f"{path.split('?')[0]}/{answer['metadata']['name']}")
            return status, "", []
        fields = [cause.get("field") for cause in answer.get("details", {}).get("causes", [])]
        return status, answer.get("reason", ""), fields


class Lists(Protocol):
    def setUp(self):
        super().setUp()
        self.set = f"?labelSelector=set%3D{self.id().rsplit('.', 1)[1].replace('_', '-')[:60]}"
        label = urllib.parse.unquote(self.set).split("=")[2]
        for name in ("list-a", "list-b", "list-c", "list-d", "list-e"):
            self.made(name, labels={"set": label})

    def page(self, query):
        answer = self.api.get(self.ours("quotas") + self.set + query)
        meta = answer["metadata"]
        return [item["metadata"]["name"] for item in answer["items"]], meta.get("continue", ""), meta["resourceVersion"]

    def test_pages_show_one_moment(self):
        names, token, version = self.page("&limit=2")
        self.assertEqual(names, ["list-a", "list-b"])
        self.remove(self.ours("quotas", "list-c"))
        names, token, again = self.page(f"&limit=2&continue={urllib.parse.quote(token)}")
        self.assertEqual((names, again), (["list-c", "list-d"], version))
        names, token, _ = self.page(f"&limit=2&continue={urllib.parse.quote(token)}")
        self.assertEqual((names, token), (["list-e"], ""))

    def test_the_cached_list_ignores_limits(self):
        self.wait_until("the cache", 10, lambda: len(self.page("&limit=2&resourceVersion=0")[0]) == 5)
        self.assertEqual(len(self.page("&limit=-1")[0]), 5)

    def test_a_past_moment_can_be_read_exactly(self):
        version = self.page("")[2]
        self.remove(self.ours("quotas", "list-a"))
        self.assertEqual(len(self.page(f"&resourceVersion={version}&resourceVersionMatch=Exact")[0]), 5)
        newer = self.page("")[2]  # "not older" than the past may still be the past
        self.assertEqual(len(self.page(f"&resourceVersion={newer}&resourceVersionMatch=NotOlderThan")[0]), 4)

    def test_wrong_questions_are_refused(self):
        def refused(query):
            return self.refusal("GET", self.ours("quotas") + self.set + query)
        _, token, version = self.page("&limit=2")
        token = urllib.parse.quote(token)
        match = ["resourceVersionMatch"]
        self.assertEqual(refused(f"&limit=2&continue={token}&resourceVersion={version}")[0], 400)
        self.assertEqual(refused("&limit=2&continue=nonsense")[0], 400)
        self.assertEqual(refused("&resourceVersion=nonsense")[0], 400)
        self.assertEqual(refused("&limit=nonsense")[0], 400)
        self.assertEqual(refused("&resourceVersionMatch=Exact"), (422, "Invalid", match))
        self.assertEqual(refused("&resourceVersion=1&resourceVersionMatch=Other"), (422, "Invalid", match))
        self.assertEqual(refused("&resourceVersion=0&resourceVersionMatch=Exact"), (422, "Invalid", match))
        self.assertEqual(refused("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
                         (422, "Invalid", match + ["sendInitialEvents"]))
        self.assertEqual(refused("&fieldSelector=spec.queueName%3Dx")[0], 400)
        self.assertEqual(self.status_of("GET", self.ours("quotas") + "?labelSelector=a%3D%3D%3Db"), 400)

    def test_a_version_that_is_not_reached_yet_says_come_back(self):
        future = int(self.page("")[2]) + 10**9
        status, answer = self.api.request("GET", self.ours("quotas") + f"?resourceVersion={future}")
        self.assertEqual((status, answer["reason"]), (504, "Timeout"))
        self.assertEqual(answer["details"]["causes"][0]["reason"], "ResourceVersionTooLarge")
        self.assertEqual(answer["details"]["retryAfterSeconds"], 1)
        self.assertEqual(self.api.headers["Retry-After"], "1")

    def test_sets_of_labels_and_fields(self):
        def names(query):
            return self.page(query)[0]
        self.assertEqual(len(names(",nothing%20notin%20(a,b)")), 5)
        self.assertEqual(names(",nothing"), [])
        self.assertEqual(len(names(",!nothing")), 5)
        self.assertEqual(names("&fieldSelector=metadata.name%3Dlist-b"), ["list-b"])
        self.assertEqual(len(names("&fieldSelector=metadata.name!%3Dlist-b")), 4)


class Watches(Protocol):
    def seen(self, query):
        """("ADDED", "name") and so on, of quotas that this test made."""
        events = self.api.watch(f"{self.ours('quotas')}?labelSelector=set%3Dwatched&timeoutSeconds=1&{query}")
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    def test_a_watch_tells_what_came_after_its_version(self):
        first = self.made("watch-a", labels={"set": "watched"})
        since = f"watch=1&resourceVersion={first['metadata']['resourceVersion']}"
        self.made("watch-b", labels={"set": "watched"})
        self.api.must("PATCH", self.ours("quotas", "watch-a"), {"spec": {"queueName": "other"}}, MERGE)
        self.api.must("PATCH", self.ours("quotas", "watch-a"), {"metadata": {"labels": {"set": "left"}}}, MERGE)
        self.remove(self.ours("quotas", "watch-b"))
        self.assertEqual(self.seen(since), [("ADDED", "watch-b"), ("MODIFIED", "watch-a"), ("DELETED", "watch-a"),
                                            ("DELETED", "watch-b")])

    def test_a_watch_without_a_version_begins_with_what_is_there(self):
        self.made("watch-a", labels={"set": "watched"})
        self.assertEqual(self.seen("watch=1"), [("ADDED", "watch-a")])
        self.assertEqual(self.seen("watch=1&resourceVersion=0"), [("ADDED", "watch-a")])

    def test_a_streamed_list_ends_in_a_marked_bookmark(self):
        self.made("watch-a", labels={"set": "watched"})
        path = f"{self.ours('quotas')}?labelSelector=set%3Dwatched&{STREAM_LIST}"
        events = self.api.watch(path + "&allowWatchBookmarks=true")
        self.assertEqual([event["type"] for event in events[:2]], ["ADDED", "BOOKMARK"])
        self.assertEqual(events[1]["object"]["metadata"]["annotations"], {"k8s.io/initial-events-end": "true"})
        self.assertEqual([event["type"] for event in self.api.watch(path)], ["ADDED"])
        self.assertEqual(self.seen(STREAM_LIST.replace("=true", "=false")), [])

    def test_wrong_watches_are_refused(self):
        for query in ("watch=1&sendInitialEvents=true", "watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1",
                      "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact"):
            self.assertEqual(self.status_of("GET", f"{self.ours('quotas')}?{query}"), 422, query)

    def test_a_version_that_was_forgotten_is_told_inside_the_stream(self):
        self.cluster.forget_history()
        events = self.api.watch(f"{self.ours('quotas')}?watch=1&timeoutSeconds=2&resourceVersion=1")
        self.assertEqual([(event["type"], event["object"]["code"], event["object"]["reason"]) for event in events],
                         [("ERROR", 410, "Expired")])

    def test_one_object_is_read_and_not_watched_by_its_path(self):
        self.made("watch-a")
        self.assertEqual(self.api.get(self.ours("quotas", "watch-a") + "?watch=1&timeoutSeconds=1")["kind"], "Quota")


class Writes(Protocol):
    def test_creates_that_are_refused(self):
        path = self.ours("quotas")
        self.made("write-a")
        self.assertEqual(self.refusal("POST", path, self.quota("write-a"))[:2], (409, "AlreadyExists"))
        self.assertEqual(self.status_of("POST", path, self.quota("write-b", resourceVersion="5")), 500)
        self.assertEqual(self.refusal("POST", path, self.quota("Write_B")), (422, "Invalid", ["metadata.name"]))
        self.assertEqual(self.status_of("POST", path, self.quota("write-b", labels={"a": 1})), 400)
        self.assertEqual(self.status_of("POST", path, ["no object"]), 400)
        self.assertEqual(self.status_of("POST", path, self.quota("write-b") | {"apiVersion": "v1"}), 400)
        self.assertEqual(self.refusal("POST", path + "?dryRun=Some", self.quota("write-b")), (422, "Invalid", ["dryRun"]))
        self.assertEqual(self.refusal("POST", path + "?fieldValidation=Some", self.quota("write-b")),
                         (422, "Invalid", ["fieldValidation"]))
        self.assertEqual(self.status_of("POST", "/api/v1/namespaces/nowhere/pods", {"metadata": {"name": "p"}}), 404)
        self.assertEqual(self.status_of("POST", path + "?dryRun=All", self.quota("write-b")), 201)
        self.assertEqual(self.status_of("GET", self.ours("quotas", "write-b")), 404)

    def test_an_update_needs_the_version_that_it_changes(self):
        made = self.made("write-a")
        path = self.ours("quotas", "write-a")
        version = made["metadata"]["resourceVersion"]
        self.assertEqual(self.refusal("PUT", path, self.quota("write-a")), (422, "Invalid", ["metadata.resourceVersion"]))
        self.assertEqual(self.refusal("PUT", path, self.quota("write-a", resourceVersion="1"))[:2], (409, "Conflict"))
        self.assertEqual(self.refusal("PUT", path, self.quota("write-a", resourceVersion=version, uid="other"))[:2],
                         (409, "Conflict"))
        self.assertEqual(self.status_of("PUT", path, self.quota("write-b", resourceVersion=version)), 400)
        self.assertEqual(self.status_of("PUT", path, self.quota("write-a", resourceVersion=version)), 200)

    def test_a_pod_may_be_updated_as_it_was_sent(self):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "write-pod"}, "spec": {
            "schedulerName": "nobody", "containers": [{"name": "main", "image": "none:1"}]}}
        self.create(self.pod_path(), pod)
        self.assertEqual(self.status_of("PUT", self.pod_path("write-pod"), pod), 200)
        pod["spec"]["schedulerName"] = "another"
        self.assertEqual(self.status_of("PUT", self.pod_path("write-pod"), pod), 422)

    def test_patches(self):
        path = self.ours("quotas", "write-a")
        version = self.made("write-a")["metadata"]["resourceVersion"]
        queue = {"spec": {"queueName": "other"}}
        self.assertEqual(self.refusal("PATCH", path, queue | {"metadata": {"resourceVersion": "1"}}, MERGE)[:2],
                         (409, "Conflict"))
        self.assertEqual(self.refusal("PATCH", path, queue | {"metadata": {"uid": "other"}}, MERGE)[:2], (422, "Invalid"))
        self.assertEqual(self.status_of("PATCH", path, queue | {"metadata": {"name": "other"}}, MERGE), 400)
        self.assertEqual(self.status_of("PATCH", path, queue | {"metadata": {"resourceVersion": version}}, MERGE), 200)
        self.assertEqual(self.status_of("PATCH", path, [{"op": "replace", "path": "/spec/queueName", "value": "x"}], JSON), 200)
        self.assertEqual(self.status_of("PATCH", path, [{"op": "test", "path": "/spec/queueName", "value": "y"}], JSON), 422)
        self.assertEqual(self.status_of("PATCH", path, [{"op": "remove", "path": "/spec/nothing"}], JSON), 422)
        self.assertEqual(self.status_of("PATCH", path, queue, STRATEGIC), 415)
        self.assertEqual(self.status_of("PATCH", path, queue, "application/json"), 415)
        self.assertEqual(self.refusal("PATCH", path, {"spec": {"request": {"nvidia.com/gpu": "-1"}}}, MERGE)[:2],
                         (422, "Invalid"))
        self.assertEqual(self.status_of("PATCH", self.ours("quotas", "write-none"), queue, MERGE), 404)
        before = self.api.get(path)["metadata"]
        self.api.must("PATCH", path, {"spec": {"queueName": "x"}}, MERGE)
        self.assertEqual(self.api.get(path)["metadata"], before, "nothing changed, nothing is written")

    def test_what_nobody_knows_in_an_object_or_in_a_patch(self):
        path = self.ours("quotas", "write-a")
        self.made("write-a")
        typo = {"spec": {"typo": 1}}
        self.assertEqual(self.refusal("PATCH", path + "?fieldValidation=Strict", typo, MERGE), (422, "Invalid", ["patch"]))
        self.assertEqual(self.status_of("POST", self.ours("quotas") + "?fieldValidation=Strict",
                                        self.quota("write-b") | {"spec": SPEC | {"typo": 1}}), 400)
        self.assertEqual(self.status_of("PATCH", path, typo, MERGE), 200)
        self.assertIn('unknown field \\"spec.typo\\"', self.api.headers["Warning"])
        self.assertEqual(self.status_of("PATCH", path + "?fieldValidation=Ignore", typo, MERGE), 200)
        self.assertNotIn("Warning", self.api.headers)
        self.assertNotIn("typo", self.api.get(path)["spec"])

    def test_apply_knows_who_owns_what(self):
        path = self.ours("quotas", "write-a")
        other = self.quota("write-a") | {"spec": SPEC | {"queueName": "other"}}
        self.made("write-a")
        self.assertEqual(self.refusal("PATCH", path, other, APPLY), (422, "Invalid", ["fieldManager"]))
        self.assertEqual(self.refusal("PATCH", path + "?fieldManager=me", other, APPLY), (409, "Conflict", [".spec.queueName"]))
        self.assertEqual(self.refusal("PATCH", path + "?force=true", {}, MERGE), (422, "Invalid", ["force"]))
        self.assertEqual(self.status_of("PATCH", path + "?fieldManager=me&force=true", other, APPLY), 200)
        self.assertEqual(self.api.get(path)["spec"]["queueName"], "other")

    def test_deletes(self):
        path = self.ours("quotas", "write-a")
        self.made("write-a", finalizers=["example.com/hold"])
        self.assertEqual(self.refusal("DELETE", path, {"preconditions": {"uid": "other"}})[:2], (409, "Conflict"))
        self.assertEqual(self.refusal("DELETE", path, {"preconditions": {"resourceVersion": "1"}})[:2], (409, "Conflict"))
        self.assertEqual(self.refusal("DELETE", path, {"propagationPolicy": "Some"}), (422, "Invalid", ["propagationPolicy"]))
        self.assertEqual(self.status_of("DELETE", path, {"dryRun": ["All"]}), 200)
        self.assertNotIn("deletionTimestamp", self.api.get(path)["metadata"])
        self.assertEqual(self.status_of("DELETE", path), 200)
        self.assertIn("deletionTimestamp", self.api.get(path)["metadata"], "its finalizer holds it")
        more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
        self.assertEqual(self.refusal("PATCH", path, more, MERGE)[:2], (422, "Invalid"))
        freed = self.api.must("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        self.assertNotIn("finalizers", freed["metadata"])
        self.assertEqual(self.status_of("DELETE", path), 404)

    def test_the_status_is_a_resource_of_its_own(self):
        made = self.made("write-a")
        path = self.ours("quotas", "write-a")
        after = self.api.must("PATCH", f"{path}/status", {"spec": {"queueName": "x"}, "status": {"phase": "QuotaBound", "nodeName": "n"}}, MERGE)
        self.assertEqual((after["spec"]["queueName"], after["status"]["nodeName"]), ("default", "n"))
        self.assertEqual(after["metadata"]["generation"], made["metadata"]["generation"])
        after = self.api.must("PATCH", path, {"spec": {"queueName": "x"}, "status": {"nodeName": "other"}}, MERGE)
        self.assertEqual((after["spec"]["queueName"], after["status"]["nodeName"]), ("x", "n"))
        self.assertEqual(after["metadata"]["generation"], made["metadata"]["generation"] + 1)


class Events(Protocol):
    path = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "event.1"},
             "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "sky-scheduler", "reportingInstance": "i",
             "action": "Scheduling", "reason": "Waits", "type": "Normal", "note": "n",
             "regarding": {"kind": "Pod", "namespace": NAMESPACE, "name": "event-pod"}}

    def test_an_event_says_all_that_is_asked_for(self):
        for member in ("eventTime", "reportingController", "reportingInstance", "action", "reason", "type"):
            less = {name: value for name, value in self.event.items() if name != member}
            self.assertEqual(self.status_of("POST", self.path, less), 422, member)
        self.assertEqual(self.status_of("POST", self.path, self.event | {"note": "x" * 1025}), 422)
        self.assertEqual(self.status_of("POST", self.path, self.event | {"type": "Other"}), 422)
        elsewhere = self.event["regarding"] | {"namespace": "elsewhere"}
        self.assertEqual(self.status_of("POST", self.path, self.event | {"regarding": elsewhere}), 201)
        core = {"metadata": {"name": "event.2"}, "reason": "Waits", "message": "m", "type": "Normal", "involvedObject": elsewhere}
        self.assertEqual(self.status_of("POST", f"/api/v1/namespaces/{NAMESPACE}/events", core), 422, "the old form is stricter")

    def test_only_the_series_of_an_event_goes_on(self):
        self.create(self.path, self.event)
        series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}
        self.assertEqual(self.status_of("PATCH", f"{self.path}/event.1", series, MERGE), 200)
        self.assertEqual(self.status_of("PATCH", f"{self.path}/event.1", {"note": "other"}, MERGE), 422)
        core = self.api.get(f"/api/v1/namespaces/{NAMESPACE}/events/event.1")
        self.assertEqual((core["message"], core["series"]["count"]), ("n", 2))


class Lease(Protocol):
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"

    def lease(self, seconds, **metadata):
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "write-lease"} | metadata,
                "spec": {"holderIdentity": "a", "leaseDurationSeconds": seconds}}

    def test_a_lease_changes_only_under_its_version_and_lasts_a_second_at_least(self):
        made = self.create(self.path, self.lease(15))
        path = f"{self.path}/write-lease"
        self.assertEqual(self.status_of("PUT", path, self.lease(15)), 422)
        version = made["metadata"]["resourceVersion"]
        self.assertEqual(self.status_of("PUT", path, self.lease(0, resourceVersion=version)), 422)
        self.assertEqual(self.status_of("PUT", path, self.lease(1, resourceVersion=version)), 200)
        self.assertEqual(self.refusal("PUT", path, self.lease(1, resourceVersion=version))[:2], (409, "Conflict"))


class Served(Protocol):
    def test_paths_that_tell_what_is_served(self):
        for path in ("/healthz", "/readyz", "/livez"):
            self.assertEqual(self.api.request("GET", path), (200, "ok"))
        def read(path):  # a real server doesn't say that it is JSON
            answer = self.api.get(path)
            return json.loads(answer) if isinstance(answer, str) else answer
        index = read("/openapi/v3")["paths"]
        document = read(index[f"apis/{GROUP}/v1alpha1"]["serverRelativeURL"])
        kinds = {gvk["kind"] for schema in document["components"]["schemas"].values()
                 for gvk in schema.get("x-kubernetes-group-version-kind", [])}
        self.assertLessEqual({"Quota", "Queue", "PodGroup", "Placement"}, kinds)
        self.assertEqual(self.api.get("/version")["minor"], "36")
        self.assertEqual(self.api.request("GET", f"/apis/{GROUP}/v1alpha1/nothing")[0], 404)
