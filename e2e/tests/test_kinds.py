# SPDX-License-Identifier: Apache-2.0
"""Our kinds as a server sees them: schemas, defaults, columns, refusals."""
import glob
import os

import yaml

from harness.case import GROUP, NAMESPACE, Case
from harness.real import ROOT


def crds():
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, "deploy", "crds", "*.yaml"))):
        with open(path, encoding="utf-8") as file:
            found += [document for document in yaml.safe_load_all(file) if document]
    return found


class Kinds(Case):
    def test_every_kind_is_served_under_its_names(self):
        rows = self.kubectl.must("api-resources", f"--api-group={GROUP}", "--no-headers", "-o", "wide").splitlines()
        served = {row.split()[0] for row in rows}
        self.assertEqual(served, {crd["spec"]["names"]["plural"] for crd in crds()})
        for crd in crds():
            names = crd["spec"]["names"]
            for name in [f"{names['singular']}.{GROUP}", *(f"{short}.{GROUP}" for short in names.get("shortNames", []))]:
                self.kubectl.must("get", name, "--all-namespaces")

    def test_columns_of_a_quota(self):
        self.create_ours("quotas", "columns", {"queueName": "default", "request": {"nvidia.com/gpu": "1"}})
        self.api.must("PATCH", self.ours("quotas", "columns") + "/status", {"status": {
            "phase": "QuotaBound", "nodeName": "n0", "allocated": {"nvidia.com/gpu": "1"}}}, "application/merge-patch+json")
        header, row = self.kubectl.must("get", "quota", "columns").splitlines()
        self.assertEqual(header.split(), ["NAME", "QUEUE", "PHASE", "NODE", "ALLOCATED", "AGE"])
        self.assertEqual(row.split()[:4], ["columns", "default", "QuotaBound", "n0"])
        self.assertIn("nvidia.com/gpu", row)

    def test_a_new_quota_is_empty_and_status_is_not_taken_from_a_create(self):
        quota = self.create_ours("quotas", "fresh", {"queueName": "default", "request": {"nvidia.com/gpu": "1"}},
                                 status={"nodeName": "n0"})
        self.assertEqual(quota["status"], {"phase": "QuotaEmpty"})

    def test_a_placement_is_whole_after_one_write(self):
        spec = {
            "podGroupUID": "7d1f3a52-7d5e-4f0e-9d3e-6a2a6a1f0001", "round": 1, "leaderEpoch": 3,
            "nodes": ["n0", "n1"], "zones": ["roce#S1"], "quotas": ["q-train-0", "q-train-1"],
            "entries": [
                {"task": "worker-0", "podUID": "u0", "role": "worker", "rank": 0, "quota": 0, "node": 0, "zone": 0},
                {"task": "worker-1", "podUID": "u1", "role": "worker", "rank": 1, "quota": 1, "node": 1, "zone": -1},
            ]}
        self.create_ours("placements", "whole", spec, NAMESPACE)
        self.assertEqual(self.api.get(self.ours("placements", "whole", NAMESPACE))["spec"], spec)
        status, _ = self.api.request("GET", self.ours("placements", "whole", NAMESPACE) + "/status")
        self.assertEqual(status, 404, "a Placement has no status subresource: its create is the commit point")


class RealKinds(Case):
    targets = ("real",)

    def test_crds_are_established_and_their_names_accepted(self):
        for crd in crds():
            stored = self.api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}")
            conditions = {c["type"]: c["status"] for c in stored["status"]["conditions"]}
            self.assertEqual((conditions["Established"], conditions["NamesAccepted"]), ("True", "True"), crd["metadata"]["name"])
            self.assertNotIn("NonStructuralSchema", conditions)
