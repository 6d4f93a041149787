# SPDX-License-Identifier: Apache-2.0
"""The rest of what people type: the same words, and the same answers, on both clusters."""
import json
import os

import yaml

from harness.case import GROUP, MERGE, NAMESPACE, Case
from harness.processes import Process
from harness.real import ROOT

QUOTA = {"queueName": "default", "request": {"nvidia.com/gpu": "1"}}
RUNNING = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


class Asking(Case):
    def quota(self, name, **labels):
        quota = self.our_object("quotas", name, QUOTA)
        quota["metadata"]["labels"] = labels
        return self.create(self.ours("quotas"), quota)

    def spec(self, name):
        return self.api.get(self.ours("quotas", name))["spec"]

    def run_pod(self, name):
        self.api.must("PATCH", self.pod_path(name) + "/status", RUNNING, MERGE)


class Examples(Asking):
    def test_the_files_that_the_docs_begin_with_are_accepted(self):
        folder = os.path.join(ROOT, "docs", "examples")
        for name in sorted(os.listdir(folder)):
            said = self.kubectl.must("apply", "--dry-run=server", "--validate=strict", "-f", os.path.join(folder, name))
            self.assertGreater(said.count("created (server dry run)"), 8, said)


class Installing(Case):
    targets = ("real",)

    def test_what_the_readme_applies_is_accepted(self):
        for files in (["rbac/namespace.yaml", "crds", "rbac"], ["sky-scheduler.yaml"]):
            named = [word for name in files for word in ("-f", os.path.join(ROOT, "deploy", name))]
            self.kubectl.must("apply", "--dry-run=server", "--validate=strict", *named)


class Reading(Asking):
    def test_every_form_of_output(self):
        self.quota("formed", team="vision")
        must = self.kubectl.must
        self.assertEqual(yaml.safe_load(must("get", "quota", "formed", "-o", "yaml"))["spec"], QUOTA)
        self.assertEqual(json.loads(must("get", "quota", "formed", "-o", "json"))["kind"], "Quota")
        self.assertEqual(must("get", "quota", "formed", "-o", "name").strip(), f"quota.{GROUP}/formed")
        self.assertEqual(must("get", "quota", "formed", "-o", "jsonpath={.spec.queueName}"), "default")
        self.assertEqual(must("get", "quota", "formed", "-o", "custom-columns=N:.metadata.name,Q:.spec.queueName").split(),
                         ["N", "Q", "formed", "default"])
        self.assertIn("team=vision", must("get", "quota", "formed", "--show-labels"))
        self.assertEqual(must("get", "quota", "formed", "-L", "team").split()[-1], "vision")
        self.create_pod("formed")
        self.assertEqual(must("get", "quota/formed", "pod/formed", "-o", "name").split(),
                         [f"quota.{GROUP}/formed", "pod/formed"])
        self.assertEqual(self.kubectl.run("get", "pod", "nobody").stderr.strip(),
                         'Error from server (NotFound): pods "nobody" not found')

    def test_wide_tables_have_all_columns(self):
        self.create_pod("wide", nodeName="wide-n0")
        header, row = self.kubectl.must("get", "pod", "wide", "-o", "wide").splitlines()
        self.assertEqual(" ".join(header.split()), "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES")
        self.assertEqual(row.split()[:4] + row.split()[5:], ["wide", "0/1", "Pending", "0", "<none>", "wide-n0", "<none>", "<none>"])
        self.create_node("wide-n0")
        header = self.kubectl.must("get", "node", "wide-n0", "-o", "wide").splitlines()[0]
        self.assertEqual(header.split(), ["NAME", "STATUS", "ROLES", "AGE", "VERSION", "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE",
                                          "KERNEL-VERSION", "CONTAINER-RUNTIME"])

    def test_a_watch_of_a_selection_tells_who_enters_and_leaves(self):
        log = os.path.join(self.cluster.folder, "kubectl-selection.log")
        watch = Process("kubectl get -w", [*self.kubectl.command, "get", "pods", "--field-selector",
                                           "spec.nodeName=entered-n0,status.phase!=Succeeded", "-w", "--output-watch-events",
                                           "--no-headers"], log)
        self.addCleanup(watch.stop)

        def rows():
            return [line.split()[:2] for line in watch.tail().splitlines()]
        self.create_pod("entered-a", nodeName="entered-n0")
        self.create_pod("entered-b", nodeName="entered-n1")
        self.wait_until("the first pod", 20, lambda: rows() == [["ADDED", "entered-a"]])
        self.run_pod("entered-a")
        self.wait_until("its change", 20, lambda: rows()[1:] == [["MODIFIED", "entered-a"]])
        self.api.must("PATCH", self.pod_path("entered-a") + "/status", {"status": {"phase": "Succeeded"}}, MERGE)
        self.wait_until("its leaving", 20, lambda: rows()[2:] == [["DELETED", "entered-a"]])
        refused = self.kubectl.run("get", "pods", "--field-selector", "spec.nothing=1")
        self.assertEqual(refused.stderr.strip(), 'Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label '
                         'selector "", field selector "spec.nothing=1": field label not supported: spec.nothing')

    def test_waiting(self):
        self.create_pod("awaited", nodeName="awaited-n0")
        late = self.kubectl.run("wait", "--for=condition=Ready", "pod/awaited", "--timeout=1s")
        self.assertEqual(late.returncode, 1)
        self.assertIn("timed out waiting for the condition", late.stderr)
        waiter = Process("kubectl wait", [*self.kubectl.command, "wait", "--for=condition=Ready", "pod/awaited", "--timeout=20s"],
                         os.path.join(self.cluster.folder, "kubectl-wait.log"))
        self.addCleanup(waiter.stop)
        self.run_pod("awaited")
        self.wait_until("the waiter's end", 20, lambda: not waiter.running())
        self.assertEqual((waiter.kill(), waiter.tail().strip().splitlines()[-1]), (0, "pod/awaited condition met"))
        self.quota("awaited")
        self.api.must("PATCH", self.ours("quotas", "awaited") + "/status", {"status": {"phase": "QuotaBound"}}, MERGE)
        self.kubectl.must("wait", "--for=jsonpath={.status.phase}=QuotaBound", "quota/awaited", "--timeout=5s")
        self.kubectl.must("wait", "--for=create", "quota/awaited", "--timeout=5s")
        self.remove(self.ours("quotas", "awaited"))
        self.kubectl.must("wait", "--for=delete", "quota/awaited", "--timeout=5s")

    def test_who_am_i_and_what_may_i(self):
        self.assertEqual(self.kubectl.must("auth", "can-i", "create", "pods").strip(), "yes")
        self.assertIn("*.*", self.kubectl.must("auth", "can-i", "--list"))
        self.assertIn("system:masters", self.kubectl.must("auth", "whoami"))

    def test_raw_paths_and_versions(self):
        self.assertIn(f"apis/{GROUP}/v1alpha1", json.loads(self.kubectl.must("get", "--raw", "/openapi/v3"))["paths"])
        self.assertEqual(self.kubectl.must("get", "--raw", "/readyz"), "ok")
        self.assertIn(f"{GROUP}/v1alpha1", self.kubectl.must("api-versions").split())
        self.assertIn("Server Version: v1.36", self.kubectl.must("version"))

    def test_explain_shows_all_fields(self):
        text = self.kubectl.must("explain", "quota.status", "--recursive")
        for field in ("phase", "nodeName", "allocated", "tasks"):
            self.assertIn(field, text)
        wrong = self.kubectl.run("explain", "quota.nothing")
        self.assertEqual((wrong.returncode, wrong.stderr.strip()), (1, 'error: field "nothing" does not exist'))

    def test_events_and_descriptions(self):
        self.create_pod("told", nodeName="told-n0")
        self.create(f"/api/v1/namespaces/{NAMESPACE}/events", {
            "metadata": {"name": "told.1"}, "type": "Normal", "reason": "Pulled", "message": "image is there", "count": 3,
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "source": {"component": "kubelet"},
            "involvedObject": {"kind": "Pod", "apiVersion": "v1", "namespace": NAMESPACE, "name": "told"}})
        self.assertRegex(self.kubectl.must("events", "--for", "pod/told"), r"Normal +Pulled +Pod/told +image is there")
        self.assertRegex(self.kubectl.must("get", "events", "--field-selector", "involvedObject.name=told"), r"pod/told +image is there")
        self.create_node("told-n0")
        text = self.kubectl.must("describe", "node", "told-n0")
        self.assertRegex(text, r"Non-terminated Pods: +\(1 in total\)")
        self.assertRegex(text, r"cpu +1 \(1%\)")


class Writing(Asking):
    def test_labels_and_annotations(self):
        self.quota("labelled", team="vision")
        taken = self.kubectl.run("label", "quota", "labelled", "team=speech")
        self.assertEqual(taken.returncode, 1)
        self.assertIn("--overwrite", taken.stderr)
        self.kubectl.must("label", "quota", "labelled", "team=speech", "--overwrite")
        self.kubectl.must("annotate", "quota", "labelled", "example.com/note=hello")
        metadata = self.api.get(self.ours("quotas", "labelled"))["metadata"]
        self.assertEqual((metadata["labels"], metadata["annotations"]), ({"team": "speech"}, {"example.com/note": "hello"}))
        self.kubectl.must("label", "quota", "labelled", "team-")
        self.assertNotIn("labels", self.api.get(self.ours("quotas", "labelled"))["metadata"])

    def test_patches_of_three_kinds(self):
        self.quota("patched")
        self.kubectl.must("patch", "quota", "patched", "--type=merge", "-p", '{"spec":{"queueName":"a"}}')
        self.assertEqual(self.spec("patched")["queueName"], "a")
        self.kubectl.must("patch", "quota", "patched", "--type=json", "-p",
                          '[{"op":"test","path":"/spec/queueName","value":"a"},{"op":"replace","path":"/spec/queueName","value":"b"}]')
        self.assertEqual(self.spec("patched")["queueName"], "b")
        refused = self.kubectl.run("patch", "quota", "patched", "-p", '{"spec":{"queueName":"c"}}')  # strategic
        self.assertEqual(refused.returncode, 1)
        self.assertIn("application/strategic-merge-patch+json is not supported", refused.stderr)
        self.create_pod("patched")
        self.kubectl.must("patch", "pod", "patched", "-p", '{"spec":{"containers":[{"name":"main","image":"other"}]}}')
        container = self.api.get(self.pod_path("patched"))["spec"]["containers"]
        self.assertEqual([(c["name"], c["image"], c["resources"]) for c in container],
                         [("main", "other", {"requests": {"cpu": "1"}})])
        self.kubectl.must("set", "image", "pod/patched", "main=third")
        self.kubectl.must("patch", "pod", "patched", "--subresource=status", "-p", json.dumps(RUNNING))
        self.assertEqual(self.api.get(self.pod_path("patched"))["status"]["phase"], "Running")

    def test_a_stale_replace_is_a_conflict(self):
        self.quota("replaced")
        old = self.kubectl.must("get", "quota", "replaced", "-o", "yaml")
        self.kubectl.must("annotate", "quota", "replaced", "example.com/changed=yes")
        stale = self.kubectl.run("replace", "-f", "-", stdin=old)
        self.assertEqual(stale.returncode, 1)
        self.assertIn("Error from server (Conflict)", stale.stderr)
        fresh = yaml.safe_load(self.kubectl.must("get", "quota", "replaced", "-o", "yaml"))
        fresh["spec"]["queueName"] = "new"
        self.kubectl.must("replace", "-f", "-", stdin=yaml.safe_dump(fresh))
        self.assertEqual(self.spec("replaced")["queueName"], "new")

    def test_an_edit_changes_and_a_bad_one_changes_nothing(self):
        self.quota("edited")
        editor = os.path.join(self.cluster.folder, "editor")

        def edit(expression):
            with open(editor, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nsed -i '{expression}' \"$1\"\n")
            os.chmod(editor, 0o755)
            return self.kubectl.run("edit", "quota", "edited", env={"KUBE_EDITOR": editor, "TMPDIR": self.cluster.folder})
        self.assertEqual(edit("s/queueName: .*/queueName: by-hand/").returncode, 0)
        self.assertEqual(self.spec("edited")["queueName"], "by-hand")
        bad = edit("s/nvidia.com.gpu: .*/nvidia.com\\/gpu: \"-1\"/")
        self.assertEqual(bad.returncode, 1)
        self.assertIn("is invalid", bad.stderr)
        self.assertEqual(self.spec("edited")["request"], {"nvidia.com/gpu": "1"})
        self.assertIn("no changes made", edit("s/nothing/at all/").stderr)

    def test_what_an_apply_would_do(self):
        self.kubectl.apply(self.our_object("quotas", "tried", QUOTA))
        self.addCleanup(self.remove, self.ours("quotas", "tried"))
        changed = yaml.safe_dump(self.our_object("quotas", "tried", QUOTA | {"queueName": "other"}))
        difference = self.kubectl.run("diff", "-f", "-", stdin=changed)
        self.assertEqual(difference.returncode, 1)
        self.assertIn("+  queueName: other", difference.stdout)
        self.assertIn("(server dry run)", self.kubectl.must("apply", "--dry-run=server", "-f", "-", stdin=changed))
        self.assertIn("(server dry run)", self.kubectl.must("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=changed))
        self.assertEqual(self.spec("tried")["queueName"], "default")

    def test_a_client_side_apply_moves_to_the_server_side(self):
        self.kubectl.apply(self.our_object("quotas", "moved", QUOTA))
        self.addCleanup(self.remove, self.ours("quotas", "moved"))
        for queue in ("other", "default"):
            self.api.must("PATCH", self.ours("quotas", "moved"), {"spec": {"queueName": queue}}, MERGE)
        changed = yaml.safe_dump(self.our_object("quotas", "moved", QUOTA | {"queueName": "mine"}))
        self.kubectl.must("apply", "--server-side", "-f", "-", stdin=changed)
        self.assertEqual(self.spec("moved")["queueName"], "mine")

    def test_unknown_fields_are_refused_told_or_ignored(self):
        quota = yaml.safe_dump(self.our_object("quotas", "typed", QUOTA | {"typo": 1}))
        self.addCleanup(self.kubectl.run, "delete", "quota", "typed", "--ignore-not-found")
        strict = self.kubectl.run("create", "--validate=strict", "-f", "-", stdin=quota)
        self.assertEqual(strict.returncode, 1)
        self.assertIn('strict decoding error: unknown field "spec.typo"', strict.stderr)
        warned = self.kubectl.run("create", "--validate=warn", "-f", "-", stdin=quota)
        self.assertEqual((warned.returncode, warned.stderr.strip()), (0, 'Warning: unknown field "spec.typo"'))
        self.assertEqual(self.kubectl.run("apply", "--validate=ignore", "-f", "-", stdin=quota).returncode, 0)
        changed = quota.replace("queueName: default", "queueName: other")
        strict = self.kubectl.run("apply", "--validate=strict", "-f", "-", stdin=changed)
        self.assertEqual(strict.returncode, 1)
        self.assertIn('unknown field "spec.typo"', strict.stderr)

    def test_deletes_by_file_and_by_label(self):
        for name in ("swept-a", "swept-b", "swept-c"):
            self.quota(name, sweep="yes" if name != "swept-c" else "no")
        self.assertEqual(len(self.kubectl.must("delete", "quota", "-l", "sweep=yes").splitlines()), 2)
        listed = yaml.safe_dump(self.our_object("quotas", "swept-c", QUOTA))
        self.assertIn("(server dry run)", self.kubectl.must("delete", "--dry-run=server", "-f", "-", stdin=listed))
        self.kubectl.must("delete", "-f", "-", stdin=listed)
        self.assertEqual(self.kubectl.must("delete", "--ignore-not-found", "-f", "-", stdin=listed), "")

    def test_a_namespace_that_leaves_takes_nothing_new(self):
        self.kubectl.must("create", "ns", "leaving")
        self.kubectl.must("create", "configmap", "kept", "-n", "leaving", "--from-literal=a=b")
        self.kubectl.must("delete", "ns", "leaving", "--wait=false")
        self.assertEqual(self.kubectl.must("get", "ns", "leaving", "-o", "jsonpath={.status.phase}"), "Terminating")
        refused = self.kubectl.run("create", "configmap", "late", "-n", "leaving")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("forbidden", refused.stderr)
        self.kubectl.must("delete", "configmap", "kept", "-n", "leaving")

    def test_what_kubectl_creates_by_itself(self):
        made = [("priorityclass", ("--value=10", "--description=for tests")), ("configmap", ("--from-literal=a=b",)),
                ("serviceaccount", ()), ("pdb", ("--selector=app=made", "--min-available=1"))]
        for kind, options in made:
            self.addCleanup(self.kubectl.run, "delete", kind, "made", "--ignore-not-found")
            self.kubectl.must("create", kind, "made", *options)
        self.assertEqual(self.kubectl.must("get", "priorityclass", "made").split()[-5:-3] + [
            self.kubectl.must("get", "priorityclass", "made").split()[-1]], ["made", "10", "PreemptLowerPriority"])
        self.assertEqual(self.kubectl.must("get", "pdb", "made").split()[-5:-1], ["made", "1", "N/A", "0"])
        self.kubectl.must("run", "made", "--image=none")
        self.addCleanup(self.remove, self.pod_path("made"))
        self.assertEqual(self.api.get(self.pod_path("made"))["spec"]["containers"][0]["imagePullPolicy"], "Always")
