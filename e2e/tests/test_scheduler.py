# SPDX-License-Identifier: Apache-2.0
"""The worked example through the real process, on both clusters: four workers under one switch, in rank order,
the Placement before the bindings, and in quotaFirst the quotas' statuses between them."""
import http.client

from harness.case import MERGE, NAMESPACE, OURS, Case
from harness.scheduler import ACCOUNT, Scheduler

WORKERS = 4
FAULTS = "/lab/faults"


class Example(Case):
    def start(self, config=""):
        scheduler = Scheduler(self.cluster, config)
        self.addCleanup(scheduler.stop)
        self.wait_until("a leader", 40, scheduler.leads)
        return scheduler

    def draw_cluster(self, prefix):
        """Eight nodes under two leaf switches, four quotas that are bound nowhere."""
        self.prefix = prefix
        for i in range(8):
            self.create_node(f"{prefix}-n{i}", **{"nvidia.com/gpu": "8", "rdma/hca": "8"})
            self.create(f"{OURS}/nodetopologies", {
                "apiVersion": "scheduling.infini-ai.com/v1alpha1", "kind": "NodeTopology",
                "metadata": {"name": f"{prefix}-n{i}"},
                "spec": {"net": {"roce": [{"name": "eth0", "switchName": f"{prefix}-S{1 + i // 4}"}]}}})
        for i in range(WORKERS):
            self.create_ours("quotas", f"{prefix}-q-{i}", {
                "queueName": "default", "request": {"nvidia.com/gpu": "1", "rdma/hca": "1"}})

    def submit_gang(self):
        self.create_ours("podgroups", f"{self.prefix}-train", {"queue": "default", "minMember": WORKERS}, NAMESPACE)
        self.addCleanup(self.remove, f"{OURS}/namespaces/{NAMESPACE}/placements/{self.prefix}-train")
        for i in range(WORKERS):
            self.create_worker(i)

    def create_worker(self, i):
        asked = {"nvidia.com/gpu": "1", "rdma/hca": "1"}
        return self.create(self.pod_path(), {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{self.prefix}-worker-{i}",
                         "annotations": {"scheduling.infini-ai.com/group-name": f"{self.prefix}-train"}},
            "spec": {"schedulerName": "sky-scheduler", "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": asked, "limits": asked}}]}})

    def start_alone(self, config):
        scheduler = Scheduler(self.cluster, config, ["--no-leader-elect"])
        self.wait_until("the first cycle", 20, scheduler.ready)
        return scheduler

    def finished(self):
        return self.places() == self.expected_places() and self.statuses() == self.expected_statuses()

    def bound_once(self, since):
        nodes = {}
        for pod in self.history(self.pod_path(), since):
            if pod["spec"].get("nodeName"):
                nodes.setdefault(pod["metadata"]["name"], set()).add(pod["spec"]["nodeName"])
        self.assertEqual({name: len(on) for name, on in nodes.items()},
                         {f"{self.prefix}-worker-{i}": 1 for i in range(WORKERS)})

    def forget_round(self):
        """What a round made goes before the next one: its nodes would be room for it."""
        self.doCleanups()
        self.api = self.cluster.api()
        self.addCleanup(self.api.close)

    def places(self):
        pods = [self.api.get(self.pod_path(f"{self.prefix}-worker-{i}")) for i in range(WORKERS)]
        return [(pod["spec"].get("nodeName"), pod["metadata"]["annotations"].get("scheduling.infini-ai.com/quota-name"))
                for pod in pods]

    def statuses(self):
        quotas = [self.api.get(self.ours("quotas", f"{self.prefix}-q-{i}")) for i in range(WORKERS)]
        return [(q["status"].get("phase"), q["status"].get("nodeName"), q["status"].get("allocated")) for q in quotas]

    def expected_places(self):
        return [(f"{self.prefix}-n{i}", f"{self.prefix}-q-{i}") for i in range(WORKERS)]

    def expected_statuses(self):
        return [("QuotaBound", f"{self.prefix}-n{i}", {"nvidia.com/gpu": "1", "rdma/hca": "1"}) for i in range(WORKERS)]

    def history(self, path, since):
        """Every event of a collection since a resourceVersion, as a watch tells it."""
        events = self.api.watch(f"{path}?watch=1&resourceVersion={since}&timeoutSeconds=1")
        return [event["object"] for event in events if event["type"] != "BOOKMARK"]

    def first_version(self, objects, true_of):
        return min(int(o["metadata"]["resourceVersion"]) for o in objects if true_of(o))

    def run_example(self, config, prefix):
        scheduler = self.start(config)
        self.draw_cluster(prefix)
        nodes_before = {n["metadata"]["name"]: n["metadata"]["resourceVersion"]
                        for n in self.api.get("/api/v1/nodes")["items"] if n["metadata"]["name"].startswith(prefix)}
        since = self.api.get("/api/v1/pods")["metadata"]["resourceVersion"]
        self.submit_gang()
        self.wait_until("the gang's places", 20, lambda: self.places() == self.expected_places())
        self.wait_until("the quotas' statuses", 20, lambda: self.statuses() == self.expected_statuses())
        placements = self.history(f"{OURS}/namespaces/{NAMESPACE}/placements", since)
        quotas = self.history(f"{OURS}/quotas", since)
        pods = self.history(self.pod_path(), since)
        placed = self.first_version(placements, lambda o: o["metadata"]["name"] == f"{prefix}-train")
        shown = [int(q["metadata"]["resourceVersion"]) for q in quotas
                 if q["metadata"]["name"].startswith(prefix) and q["status"].get("nodeName")]
        bound = [int(p["metadata"]["resourceVersion"]) for p in pods
                 if p["metadata"]["name"].startswith(prefix) and p["spec"].get("nodeName")]
        nodes_after = {n["metadata"]["name"]: n["metadata"]["resourceVersion"]
                       for n in self.api.get("/api/v1/nodes")["items"] if n["metadata"]["name"].startswith(prefix)}
        self.assertEqual(nodes_before, nodes_after, "nodes are never written")
        self.assertEqual(len(shown), WORKERS, "one status write a quota")
        return scheduler, placed, shown, bound


class WorkedExample(Example):
    def test_placement_first_writes_the_placement_before_any_binding(self):
        _, placed, _, bound = self.run_example("", "pf")
        self.assertLess(placed, min(bound))

    def test_quota_first_shows_every_quota_before_the_first_binding(self):
        _, placed, shown, bound = self.run_example("commitOrder: quotaFirst\n", "qf")
        self.assertLess(placed, min(shown))
        self.assertLess(max(shown), min(bound))

    def test_the_process_ends_in_order_and_gives_the_lease_back(self):
        scheduler = self.start()
        with open(scheduler.port_file, encoding="utf-8") as file:
            port = int(file.read())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for path, wanted in (("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/nothing", 404)):
            def answered(path=path, wanted=wanted):
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                return answer.status == wanted
            self.wait_until(path, 10, answered)
        connection.close()
        self.assertEqual(scheduler.stop(), 0)
        lease = self.api.get(f"/apis/coordination.k8s.io/v1/namespaces/sky-system/leases/{ACCOUNT}")
        self.assertFalse(lease["spec"].get("holderIdentity"))


    def test_a_replica_that_waits_for_the_lease_is_ready_and_takes_over(self):
        first = self.start()
        second = Scheduler(self.cluster)
        self.addCleanup(second.stop)
        self.wait_until("the second replica", 20, second.ready)
        self.assertFalse(second.leads())
        self.assertEqual(first.stop(), 0)
        self.wait_until("the second one's turn", 20, second.leads)


class UnderOurRights(Example):
    targets = ("real",)

    def test_it_is_never_refused_anything(self):
        before = self.cluster.forbidden(ACCOUNT)
        self.run_example("", "rights")
        self.assertEqual(self.cluster.forbidden(ACCOUNT), before)
        self.assertGreater(len(self.cluster.audited(ACCOUNT)), 20, "it was looked at")

    def test_a_right_that_is_missing_is_counted_and_its_return_is_enough(self):
        role = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{ACCOUNT}"
        rules = self.api.get(role)["rules"]
        fewer = [rule for rule in rules if not ("placements" in rule["resources"] and "create" in rule["verbs"])]
        self.assertEqual(len(fewer), len(rules) - 1)
        self.addCleanup(self.api.must, "PATCH", role, {"rules": rules}, MERGE)
        self.api.must("PATCH", role, {"rules": fewer}, MERGE)
        self.start()
        before = len(self.cluster.forbidden(ACCOUNT))
        self.draw_cluster("fewer")
        self.submit_gang()
        self.wait_until("a refusal", 20, lambda: len(self.cluster.forbidden(ACCOUNT)) > before)
        self.assertEqual(set(self.cluster.forbidden(ACCOUNT)[before:]), {f"create placements {NAMESPACE}/"})
        self.assertEqual(self.places(), [(None, None)] * WORKERS)
        self.api.must("PATCH", role, {"rules": rules}, MERGE)
        self.wait_until("the gang's places", 90, lambda: self.places() == self.expected_places())
