# SPDX-License-Identifier: Apache-2.0
"""The writes that place a pod: Binding and Eviction with their preconditions."""
import http.client

from harness.case import MERGE, Case

QUOTA_NAME = "scheduling.infini-ai.com/quota-name"


class Bindings(Case):
    def bind(self, pod, node="n0", uid=None, query="", annotations=None):
        name = pod["metadata"]["name"]
        return self.api.request("POST", self.pod_path(name) + "/binding" + query, {
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "uid": uid or pod["metadata"]["uid"], "annotations": annotations or {}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}})

    def placed(self, pod):
        now = self.api.get(self.pod_path(pod["metadata"]["name"]))
        return now["spec"].get("nodeName"), now["metadata"].get("annotations", {}).get(QUOTA_NAME)

    def test_a_binding_sets_node_and_quota_in_one_write(self):
        pod = self.create_pod("bind-one-write")
        status, answer = self.bind(pod, annotations={QUOTA_NAME: "q-train-0"})
        self.assertEqual(status, 201, answer)
        self.assertEqual(self.placed(pod), ("n0", "q-train-0"))

    def test_a_binding_for_an_older_life_of_the_pod_is_refused(self):
        pod = self.create_pod("bind-other-uid")
        status, answer = self.bind(pod, uid="00000000-0000-4000-8000-000000000000", annotations={QUOTA_NAME: "q"})
        self.assertEqual((status, answer["reason"]), (409, "Conflict"), answer)
        self.assertEqual(self.placed(pod), (None, None))

    def test_a_bound_pod_stays_where_it_is(self):
        pod = self.create_pod("bind-twice")
        self.assertEqual(self.bind(pod, annotations={QUOTA_NAME: "q0"})[0], 201)
        for node in ("n0", "n1"):
            status, answer = self.bind(pod, node, annotations={QUOTA_NAME: "q1"})
            self.assertEqual((status, answer["reason"]), (409, "Conflict"), answer)
        self.assertEqual(self.placed(pod), ("n0", "q0"))

    def test_a_dry_run_binds_nothing_and_refuses_the_same(self):
        pod = self.create_pod("bind-dry-run")
        self.assertEqual(self.bind(pod, query="?dryRun=All", annotations={QUOTA_NAME: "q"})[0], 201)
        self.assertEqual(self.placed(pod), (None, None))
        self.assertEqual(self.bind(pod, uid="other", query="?dryRun=All")[0], 409)

    def test_a_gated_pod_is_refused(self):
        pod = self.create_pod("bind-gated", schedulingGates=[{"name": "example.com/later"}])
        status, answer = self.bind(pod)
        self.assertEqual(status, 409, answer)
        self.assertEqual(self.placed(pod), (None, None))

    def test_a_pod_that_does_not_exist_is_not_bound(self):
        self.assertEqual(self.bind({"metadata": {"name": "bind-nobody", "uid": "u"}})[0], 404)


class Evictions(Case):
    def evict(self, pod, uid, query=""):
        name = pod["metadata"]["name"]
        return self.api.request("POST", self.pod_path(name) + "/eviction" + query, {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name},
            "deleteOptions": {"preconditions": {"uid": uid}}})

    def test_an_eviction_removes_exactly_that_pod(self):
        pod = self.create_pod("evict-me", nodeName="n0")
        self.api.must("PATCH", self.pod_path("evict-me") + "/status", {"status": {"phase": "Running"}}, MERGE)
        self.assertEqual(self.evict(pod, "other")[0], 409)
        self.assertEqual(self.api.get(self.pod_path("evict-me"))["metadata"]["uid"], pod["metadata"]["uid"])
        status, answer = self.evict(pod, pod["metadata"]["uid"])
        self.assertEqual(status, 201, answer)
        self.assertEqual(self.api.request("GET", self.pod_path("evict-me"))[0], 404)

    def test_an_eviction_of_an_older_life_leaves_a_waiting_pod_alone(self):
        """A real server tries a refused uid of a pod that doesn't run again for ten seconds; its timeout ends that,
        with 504 or a closed connection: nobody knows, until the pod is read."""
        pod = self.create_pod("evict-waiting")
        try:
            self.assertIn(self.evict(pod, "other", "?timeout=1s")[0], (409, 504))
        except http.client.HTTPException:
            self.api.close()
        now = self.api.get(self.pod_path("evict-waiting"))["metadata"]
        self.assertEqual((now["uid"], now.get("deletionTimestamp")), (pod["metadata"]["uid"], None))
