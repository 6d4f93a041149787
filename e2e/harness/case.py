# SPDX-License-Identifier: Apache-2.0
"""The test case that every end-to-end test is. `targets` says where it can run; without it, everywhere, and then
it says the same of the embedded cluster and of the real one."""
import unittest

from harness.processes import wait_until

GROUP = "scheduling.infini-ai.com"
OURS = f"/apis/{GROUP}/v1alpha1"
NAMESPACE = "default"
MERGE = "application/merge-patch+json"


class Case(unittest.TestCase):
    targets = ("lab", "real")
    cluster = None  # set by e2e/suite
    maxDiff = None
    wait_until = staticmethod(wait_until)

    def setUp(self):
        self.api = self.cluster.api()
        self.addCleanup(self.api.close)
        self.kubectl = self.cluster.kubectl()

    def create(self, path, body):
        """Creates an object that goes away with the test."""
        created = self.api.create(path, body)
        self.addCleanup(self.remove, f"{path}/{created['metadata']['name']}")
        return created

    def remove(self, path):
        """Deletes at once; an object that is gone already is fine."""
        status, answer = self.api.request("DELETE", path, {"gracePeriodSeconds": 0})
        self.assertIn(status, (200, 202, 404), answer)

    def create_ours(self, plural, name, spec, namespace=None, **fields):
        return self.create(self.ours(plural, namespace=namespace), self.our_object(plural, name, spec, namespace, **fields))

    @staticmethod
    def ours(plural, name="", namespace=None):
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{OURS}{scope}/{plural}" + (f"/{name}" if name else "")

    @staticmethod
    def our_object(plural, name, spec, namespace=None, **fields):
        kinds = {"quotas": "Quota", "queues": "Queue", "podgroups": "PodGroup", "placements": "Placement"}
        metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
        return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kinds[plural], "metadata": metadata, "spec": spec} | fields

    def create_node(self, name, **allocatable):
        capacity = {"cpu": "64", "memory": "256Gi", "pods": "110"} | allocatable
        return self.create("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"capacity": capacity, "allocatable": capacity,
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})

    def pod_path(self, name="", namespace=NAMESPACE):
        return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "")

    def create_pod(self, name, scheduler="sky-scheduler", **spec):
        return self.create(self.pod_path(), {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]} | spec})
