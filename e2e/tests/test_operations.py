# SPDX-License-Identifier: Apache-2.0
"""What happens to a scheduler that runs for months: tokens are replaced, API servers restart, people look at numbers."""
import os
import re

from harness.real import ROOT
from harness.scheduler import ACCOUNT
from test_scheduler import WORKERS, Example

# Series that nothing makes until something waits, or goes wrong.
MAY_BE_EMPTY = {"sky_jobs_waiting", "sky_kube_request_repeats_total"}
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/sky-system/leases/{ACCOUNT}"


class Operations(Example):
    def gang_lands(self, prefix):
        self.draw_cluster(prefix)
        self.submit_gang()
        self.wait_until("the gang's places", 30, lambda: all(node and quota for node, quota in self.places()))

    def term(self):
        spec = self.api.get(LEASE)["spec"]
        return spec["holderIdentity"], spec["leaseTransitions"]


class Rotation(Operations):
    def test_a_token_that_is_replaced_and_then_refused_needs_no_restart(self):
        self.addCleanup(self.cluster.any_token, ACCOUNT)
        self.cluster.rotate_token(ACCOUNT)
        scheduler = self.start()
        self.gang_lands("rotate-a")
        term = self.term()
        self.cluster.rotate_token(ACCOUNT)
        self.gang_lands("rotate-b")
        self.assertTrue(scheduler.process.running())
        self.assertEqual(self.term(), term, "it led all the while")
        # Lists are of informers that had to begin again; there are none.
        lists = [value for series, value in scheduler.metrics().items() if series.startswith("sky_informer_lists_total")]
        self.assertEqual(set(lists), {1.0})


class Restart(Operations):
    targets = ("real",)

    def test_an_api_server_that_restarts_is_waited_for(self):
        scheduler = self.start()
        self.gang_lands("restart-a")
        self.cluster.restart_api_server()
        self.api.close()
        self.gang_lands("restart-b")
        self.assertTrue(scheduler.process.running())


class Numbers(Operations):
    def test_requests_are_counted_by_verb_resource_and_outcome(self):
        scheduler = self.start()
        before = scheduler.metrics()
        self.gang_lands("numbers")

        def grown(name, **labels):
            series = name + "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}"
            return scheduler.metrics().get(series, 0) - before.get(series, 0)

        def bindings(part, **more):
            return grown(f"sky_kube_request_duration_seconds_{part}", verb="create", resource="pods/binding", code="201", **more)
        self.wait_until("the bindings' count", 10, lambda: bindings("count") == WORKERS)
        self.assertEqual(bindings("bucket", le="+Inf"), WORKERS)
        self.assertGreater(bindings("sum"), 0)
        self.assertEqual(grown("sky_kube_request_duration_seconds_count", verb="create", resource="placements", code="201"), 1)
        now = scheduler.metrics()
        with open(os.path.join(ROOT, "docs", "metrics.md"), encoding="utf-8") as file:
            told = set(re.findall(r"`(sky_\w+)", file.read()))
        served = {re.sub(r"_(bucket|sum|count)$", "", series.split("{")[0]) for series in now}
        self.assertEqual(served - told, set(), "docs/metrics.md doesn't tell of these")
        self.assertEqual(told - served - {f"{name}_count" for name in served}, MAY_BE_EMPTY - served)
        self.assertEqual(now['sky_informer_lists_total{resource="pods"}'], 1)
        self.assertGreaterEqual(now['sky_informer_events_total{resource="pods"}'] - before['sky_informer_events_total{resource="pods"}'],
                                2 * WORKERS)
