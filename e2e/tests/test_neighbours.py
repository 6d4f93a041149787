# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler works on the same nodes and leaves our pods alone."""
from harness.case import MERGE, Case


class Neighbours(Case):
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
