# SPDX-License-Identifier: Apache-2.0
"""Our kinds as a server sees them: schemas, defaults, columns, refusals."""
import functools
import glob
import os

import yaml

from harness.case import GROUP, MERGE, NAMESPACE, Case
from harness.real import ROOT


@functools.cache
def crds():
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, "deploy", "crds", "*.yaml"))):
        with open(path, encoding="utf-8") as file:
            found += [document for document in yaml.safe_load_all(file) if document]
    return found


def data(name):
    with open(os.path.join(ROOT, "tests", "data", name), encoding="utf-8") as file:
        cases = yaml.safe_load(file)
    assert cases, name
    return cases


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
            "phase": "QuotaBound", "nodeName": "n0", "allocated": {"nvidia.com/gpu": "1"}}}, MERGE)
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

    def collection(self, thing):
        plural = next(c["spec"]["names"]["plural"] for c in crds() if c["spec"]["names"]["kind"] == thing["kind"])
        return self.ours(plural, namespace=thing["metadata"].get("namespace"))

    def test_what_a_write_can_see_is_refused_with_its_reason(self):
        for case in data("bad_objects.yaml"):
            with self.subTest(case["name"]):
                strict = self.collection(case["object"]) + "?fieldValidation=Strict"
                status, answer = self.api.request("POST", strict, case["object"])
                if status < 300:
                    self.remove(f"{self.collection(case['object'])}/{case['object']['metadata']['name']}")
                # A server refuses unknown members while it decodes, before it validates: in words alone.
                unknown = "unknown field" in case["message"]
                self.assertEqual(status, 400 if unknown else 422, answer)
                self.assertIn(case["message"], answer["message"])
                if unknown:
                    self.assertIn(case["field"], answer["message"])
                elif "field" in case:
                    self.assertIn(case["field"], [cause["field"] for cause in answer["details"]["causes"]])

    def test_good_objects_are_stored_as_they_were_sent(self):
        for case in data("good_objects.yaml"):
            with self.subTest(case["name"]):
                sent = case["object"]
                path = f"{self.collection(sent)}/{sent['metadata']['name']}"
                stored = self.create(self.collection(sent), sent)
                self.assert_kept(stored.get("spec"), sent.get("spec"), "spec")
                if "status" in sent:
                    stored = self.api.must("PATCH", f"{path}/status", {"status": sent["status"]}, MERGE)
                    self.assert_kept(stored["status"], sent["status"], "status")
                self.remove(path)

    def assert_kept(self, stored, sent, where):
        """All that was sent is there; defaults may stand beside it."""
        if isinstance(sent, dict):
            self.assertIsInstance(stored, dict, where)
            for key, value in sent.items():
                self.assertIn(key, stored, where)
                self.assert_kept(stored[key], value, f"{where}.{key}")
        elif isinstance(sent, list):
            self.assertEqual(len(stored), len(sent), where)
            for index, value in enumerate(sent):
                self.assert_kept(stored[index], value, f"{where}[{index}]")
        elif sent is not None:
            self.assertEqual(stored, sent, where)


class RealKinds(Case):
    targets = ("real",)

    def test_crds_are_established_and_their_names_accepted(self):
        for crd in crds():
            stored = self.api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}")
            conditions = {c["type"]: c["status"] for c in stored["status"]["conditions"]}
            self.assertEqual((conditions["Established"], conditions["NamesAccepted"]), ("True", "True"), crd["metadata"]["name"])
            self.assertNotIn("NonStructuralSchema", conditions)
