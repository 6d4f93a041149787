# SPDX-License-Identifier: Apache-2.0
"""deploy/rbac: what sky-scheduler may do, what it may not, and that a refusal is noticed."""
import os

from harness.case import MERGE, NAMESPACE, OURS, Case
from harness.real import ROOT

ACCOUNT = "sky-scheduler"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/sky-system/leases"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{ACCOUNT}"


class Rights(Case):
    targets = ("real",)

    def setUp(self):
        super().setUp()
        self.ours_api = self.cluster.api(ACCOUNT)
        self.addCleanup(self.ours_api.close)

    def review(self, verb, group, resource, subresource="", namespace="", name=""):
        """What the authorizer says of the account, without doing it."""
        answer = self.ours_api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource,
                "namespace": namespace, "name": name}}})
        return answer["status"]["allowed"]

    def test_it_may_not_touch_what_it_only_reads(self):
        for verb in ("create", "update", "patch", "delete"):
            self.assertFalse(self.review(verb, "", "nodes"), verb)
            self.assertFalse(self.review(verb, "", "nodes", "status"), verb)
            self.assertFalse(self.review(verb, "", "pods", namespace=NAMESPACE), verb)
            self.assertFalse(self.review(verb, "scheduling.infini-ai.com", "quotas"), verb)
            self.assertFalse(self.review(verb, "scheduling.infini-ai.com", "podgroups", namespace=NAMESPACE), verb)
            self.assertFalse(self.review(verb, "rbac.authorization.k8s.io", "clusterroles"), verb)
        for verb in ("get", "list", "watch"):
            self.assertFalse(self.review(verb, "", "secrets", namespace=NAMESPACE), verb)
        self.assertFalse(self.review("update", "coordination.k8s.io", "leases", namespace="kube-system", name=ACCOUNT))
        self.assertFalse(self.review("update", "coordination.k8s.io", "leases", namespace="sky-system", name="other"))

    def test_a_refusal_is_counted_in_the_audit_log(self):
        before = self.cluster.forbidden(ACCOUNT)
        status, _ = self.ours_api.request("DELETE", "/api/v1/nodes/rights-n0")
        self.assertEqual(status, 403)
        self.assertEqual(self.cluster.forbidden(ACCOUNT), before + ["delete nodes /rights-n0"])

    def test_a_rule_that_is_taken_away_is_missed(self):
        path = f"{OURS}/quotas"
        self.assertEqual(self.ours_api.request("GET", path)[0], 200)
        role = self.api.get(ROLE)
        rest = [rule for rule in role["rules"] if "quotas" not in rule["resources"]]
        self.assertLess(len(rest), len(role["rules"]))
        self.api.must("PATCH", ROLE, {"rules": rest}, MERGE)
        self.addCleanup(self.api.must, "PATCH", ROLE, {"rules": role["rules"]}, MERGE)
        before = len(self.cluster.forbidden(ACCOUNT))
        self.wait_until("the rule's absence", 10, lambda: self.ours_api.request("GET", path)[0] == 403)
        self.assertGreater(len(self.cluster.forbidden(ACCOUNT)), before)

    def test_the_deployment_is_one_that_the_api_server_takes(self):
        said = self.kubectl.must("apply", "--dry-run=server", "--validate=strict", "-f",
                                 os.path.join(ROOT, "deploy", "sky-scheduler.yaml"))
        self.assertIn("deployment.apps/sky-scheduler created", said)

    def test_the_election_has_a_priority_level_of_its_own(self):
        schema = self.api.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/sky-leader-election")
        level = self.api.get("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/leader-election")
        status, _ = self.ours_api.request("GET", f"{LEASES}/{ACCOUNT}")
        self.assertIn(status, (200, 404))
        self.assertEqual(self.ours_api.headers["X-Kubernetes-PF-FlowSchema-UID"], schema["metadata"]["uid"])
        self.assertEqual(self.ours_api.headers["X-Kubernetes-PF-PriorityLevel-UID"], level["metadata"]["uid"])
