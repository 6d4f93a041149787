# SPDX-License-Identifier: Apache-2.0
"""What people type. The real kubectl, the same words on both clusters."""
import os
import re

import yaml

from harness.case import GROUP, MERGE, NAMESPACE, Case
from harness.processes import Process

QUOTA = {"queueName": "default", "request": {"nvidia.com/gpu": "1"}}


class Typing(Case):
    def apply(self, *objects, options=()):
        """kubectl apply of objects that go away with the test."""
        for each in objects:
            resource = f"{each['kind'].lower()}.{each['apiVersion'].split('/')[0]}" if "/" in each["apiVersion"] else each["kind"]
            self.addCleanup(self.kubectl.run, "delete", resource, each["metadata"]["name"], "--ignore-not-found", "--now")
        return self.kubectl.must("apply", *options, "-f", "-", stdin=yaml.safe_dump_all(objects)).split("\n")

    def test_a_watch_follows_a_quota_as_it_binds(self):
        self.create_ours("quotas", "watched", QUOTA)
        log = os.path.join(self.cluster.folder, "kubectl-watch.log")
        watch = Process("kubectl get -w", [*self.kubectl.command, "get", "quota", "watched", "-w"], log)
        self.addCleanup(watch.stop)

        def rows():
            return [line.split() for line in watch.tail().splitlines()]
        self.wait_until("the first row", 20, lambda: len(rows()) >= 2)
        self.assertEqual(rows()[0][:4], ["NAME", "QUEUE", "PHASE", "NODE"])
        self.assertEqual(rows()[1][:3], ["watched", "default", "QuotaEmpty"])
        self.api.must("PATCH", self.ours("quotas", "watched") + "/status",
                      {"status": {"phase": "QuotaBound", "nodeName": "n3"}}, MERGE)
        self.wait_until("the row after it bound", 20, lambda: len(rows()) >= 3)
        self.assertEqual(rows()[2][:4], ["watched", "default", "QuotaBound", "n3"])

    def test_apply_creates_then_changes_then_leaves_alone(self):
        quota = self.our_object("quotas", "applied", QUOTA)
        self.assertEqual(self.apply(quota)[0], f"quota.{GROUP}/applied created")
        self.assertEqual(self.apply(quota)[0], f"quota.{GROUP}/applied unchanged")
        quota["spec"] = QUOTA | {"sharedQueues": ["research"]}
        self.assertEqual(self.apply(quota)[0], f"quota.{GROUP}/applied configured")
        quota["spec"] = QUOTA
        self.apply(quota)
        self.assertNotIn("sharedQueues", self.api.get(self.ours("quotas", "applied"))["spec"])

    def test_apply_on_the_server(self):
        quota = self.our_object("quotas", "server-side", QUOTA)
        options = ("--server-side",)
        self.assertEqual(self.apply(quota, options=options)[0], f"quota.{GROUP}/server-side serverside-applied")
        self.apply(quota, options=options)  # a real server stores the default of status with the second write
        before = self.api.get(self.ours("quotas", "server-side"))
        self.apply(quota, options=options)
        self.assertEqual(self.api.get(self.ours("quotas", "server-side"))["metadata"]["resourceVersion"],
                         before["metadata"]["resourceVersion"])
        other = self.kubectl.run("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=yaml.safe_dump(
            self.our_object("quotas", "server-side", QUOTA | {"queueName": "research"})))
        self.assertEqual(other.returncode, 1)
        self.assertIn("conflict", other.stderr)

    def test_a_mistake_is_told_with_its_place(self):
        quota = self.our_object("quotas", "mistaken", {"queueName": "default", "request": {"nvidia.com/gpu": "-1"}})
        refused = self.kubectl.run("apply", "-f", "-", stdin=yaml.safe_dump(quota))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("spec.request[nvidia.com/gpu]", refused.stderr)
        self.assertIn("must not be negative", refused.stderr)
        quota["spec"] = {"queue": "default"} | QUOTA
        refused = self.kubectl.run("apply", "-f", "-", stdin=yaml.safe_dump(quota))
        self.assertEqual(refused.returncode, 1)
        self.assertIn('unknown field "spec.queue"', refused.stderr)

    def test_describe_pod_shows_its_events(self):
        pod = self.create_pod("described")
        self.create(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events", {
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "described.1"},
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "sky-scheduler",
            "reportingInstance": "sky-scheduler-0", "action": "Scheduling", "reason": "Unschedulable",
            "type": "Warning", "note": "no zone holds 4 workers",
            "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": NAMESPACE, "name": "described",
                          "uid": pod["metadata"]["uid"]}})
        text = self.kubectl.must("describe", "pod", "described")
        self.assertRegex(text, r"Name: +described")
        self.assertRegex(text, r"Warning +Unschedulable .*sky-scheduler.* no zone holds 4 workers")

    def test_describe_quota(self):
        self.create_ours("quotas", "described", QUOTA)
        text = self.kubectl.must("describe", "quota", "described")
        self.assertRegex(text, r"Queue Name: +default")
        self.assertRegex(text, r"Phase: +QuotaEmpty")

    def test_delete(self):
        self.apply(self.our_object("quotas", "deleted", QUOTA))
        self.assertRegex(self.kubectl.must("delete", "quota", "deleted"), r'quota\S* "deleted" deleted')
        gone = self.kubectl.run("get", "quota", "deleted")
        self.assertEqual(gone.returncode, 1)
        self.assertIn('quotas.scheduling.infini-ai.com "deleted" not found', gone.stderr)
        self.create_pod("deleted")
        self.kubectl.must("delete", "pod", "deleted", "--now")
        self.assertEqual(self.api.request("GET", self.pod_path("deleted"))[0], 404)

    def test_label_taint_and_cordon_a_node(self):
        self.create_node("typed-n0")
        self.kubectl.must("label", "node", "typed-n0", "spec=a100")
        self.kubectl.must("taint", "node", "typed-n0", "gpu=broken:NoSchedule")
        self.kubectl.must("cordon", "typed-n0")
        node = self.api.get("/api/v1/nodes/typed-n0")
        self.assertEqual(node["metadata"]["labels"]["spec"], "a100")
        self.assertTrue(node["spec"]["unschedulable"])
        taint = {"key": "gpu", "value": "broken", "effect": "NoSchedule"}
        self.assertIn(taint, node["spec"]["taints"])
        self.kubectl.must("taint", "node", "typed-n0", "gpu-")
        self.kubectl.must("uncordon", "typed-n0")
        node = self.api.get("/api/v1/nodes/typed-n0")
        self.assertNotIn("unschedulable", node["spec"])
        self.assertNotIn(taint, node["spec"].get("taints", []))

    def test_drain_evicts_the_pods_of_a_node(self):
        self.create_node("drained-n0")
        pod = self.create_pod("drained", nodeName="drained-n0")
        text = self.kubectl.must("drain", "drained-n0", "--force", "--timeout=20s")
        self.assertIn("drained-n0 drained", text)
        status, now = self.api.request("GET", self.pod_path("drained"))
        self.assertTrue(status == 404 or now["metadata"]["uid"] != pod["metadata"]["uid"], now)

    def test_explain_tells_what_a_field_is_for(self):
        text = self.kubectl.must("explain", "quota.spec.request")
        self.assertRegex(text, r"FIELD: request")
        self.assertRegex(re.sub(r"\s+", " ", text), r"What the quota reserves on its node")

    def test_selectors(self):
        for name, team in (("selected-a", "vision"), ("selected-b", "speech")):
            quota = self.our_object("quotas", name, QUOTA)
            quota["metadata"]["labels"] = {"team": team}
            self.create(self.ours("quotas"), quota)
        self.assertEqual(self.kubectl.must("get", "quota", "-l", "team=vision", "-o", "name").split(),
                         [f"quota.{GROUP}/selected-a"])
        self.create_pod("selected-pod", nodeName="selected-n0")
        self.assertEqual(self.kubectl.must("get", "pods", "--field-selector", "spec.nodeName=selected-n0", "-o", "name").split(),
                         ["pod/selected-pod"])
