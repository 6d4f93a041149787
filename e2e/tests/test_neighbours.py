# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler works on the same nodes and leaves our pods alone."""
from harness.case import MERGE
from test_scheduler import Example


class Neighbours(Example):
    targets = ("real",)

    def test_kube_scheduler_binds_its_pods_and_not_ours(self):
        self.create_node("neighbours-n0")
        ours = self.create_pod("neighbours-ours")
        theirs = self.create_pod("neighbours-theirs", scheduler="default-scheduler",
                                 nodeSelector={"kubernetes.io/hostname": "neighbours-n0"})
        self.api.must("PATCH", "/api/v1/nodes/neighbours-n0",
                      {"metadata": {"labels": {"kubernetes.io/hostname": "neighbours-n0"}}}, MERGE)
        path = self.pod_path(theirs["metadata"]["name"])
        node = self.wait_until("kube-scheduler's binding", 30, lambda: self.api.get(path)["spec"].get("nodeName"))
        self.assertEqual(node, "neighbours-n0")
        self.assertNotIn("nodeName", self.api.get(self.pod_path(ours["metadata"]["name"]))["spec"])

    def test_a_node_that_kube_scheduler_filled_is_full_for_us(self):
        self.start()
        self.draw_cluster("shared")
        self.api.must("PATCH", "/api/v1/nodes/shared-n1", {"metadata": {"labels": {"example.com/theirs": "yes"}}}, MERGE)
        all_of_it = {"nvidia.com/gpu": "8"}
        theirs = self.create_pod(
            "shared-theirs", scheduler="default-scheduler", nodeSelector={"example.com/theirs": "yes"},
            containers=[{"name": "main", "image": "none", "resources": {"requests": all_of_it, "limits": all_of_it}}])
        path = self.pod_path(theirs["metadata"]["name"])
        self.wait_until("kube-scheduler's binding", 30, lambda: self.api.get(path)["spec"].get("nodeName") == "shared-n1")
        self.submit_gang()
        self.wait_until("the gang's places", 20, lambda: all(node for node, _ in self.places()))
        nodes = [node for node, _ in self.places()]
        self.assertNotIn("shared-n1", nodes)
        self.assertEqual(len({int(node[-1]) // 4 for node in nodes}), 1, f"one switch: {nodes}")
