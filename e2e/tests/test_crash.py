# SPDX-License-Identifier: Apache-2.0
"""kill -9 after every write of the worked example, in both commit orders: the embedded cluster stores the n-th
write, answers nothing any more, the process is killed, and its successor has to reach the same end."""
import http.client
import signal

from test_scheduler import FAULTS, WORKERS, Example

MOST = 60  # writes: far more than the example has


class Crash(Example):
    targets = ("lab",)

    def cut_after(self, n):
        self.api.must("POST", FAULTS, {"faults": [
            {"match": {"verb": "write", "agent": "sky-scheduler", "nth": n}, "action": {"cut": True}}]})

    def was_cut(self):
        return self.api.get(FAULTS)["cut"]

    def was_cut_or_finished(self):
        try:
            return self.was_cut() or self.finished()
        except http.client.HTTPException:  # cut between the two questions
            self.api.close()
            return False

    def one_crash(self, config, n):
        """Whether there was an n-th write to be killed after; the dead process's id."""
        since = self.api.get("/api/v1/pods")["metadata"]["resourceVersion"]
        first = self.start_alone(config)
        pids = [first.process.pid]
        try:
            self.cut_after(n)
            self.submit_gang()
            self.wait_until("the n-th write or the end", 20, self.was_cut_or_finished)
            cut = self.was_cut()
            self.assertEqual(first.kill(), -signal.SIGKILL, "it was killed, and had not ended by itself")
            self.api.must("DELETE", FAULTS)
            second = self.start_alone(config)
            pids.append(second.process.pid)
            try:
                self.wait_until(f"the end after a crash at write {n}", 20, self.finished)
            finally:
                second.stop()
        finally:
            first.kill()
            self.api.request("DELETE", FAULTS)
        self.assertEqual(len(set(pids)), 2)
        self.bound_once(since)
        return cut

    def crash_everywhere(self, config, prefix):
        killed = 0
        for n in range(1, MOST):
            self.draw_cluster(f"{prefix}{n}")
            cut = self.one_crash(config, n)
            self.forget_round()
            if not cut:
                break
            killed += 1
        self.assertFalse(cut, f"more than {MOST} writes")
        self.assertGreaterEqual(killed, 1 + 2 * WORKERS, "a Placement, four bindings, four statuses")

    def test_placement_first_survives_a_crash_after_every_write(self):
        self.crash_everywhere("", "cp")

    def test_quota_first_survives_a_crash_after_every_write(self):
        self.crash_everywhere("commitOrder: quotaFirst\n", "cq")
