# SPDX-License-Identifier: Apache-2.0
"""Whatever the API server answers to a binding, over real connections: the whole gang lands in the end, each member
once and where it was decided."""
from test_scheduler import FAULTS, WORKERS, Example

ANSWERS = [
    ("it never arrives", {"dropRequest": True}),
    ("it lands, and nobody hears of it", {"dropAnswer": True}),
    ("it is late", {"delay": "2s"}),
    ("its answer is late", {"delayAnswer": "2s"}),
    ("too many requests", {"refuse": {"code": 429, "retryAfter": 1}}),
    ("the server fails", {"refuse": {"code": 500}}),
    ("the server is away", {"refuse": {"code": 503}}),
    ("the server was too slow", {"refuse": {"code": 504}}),
    ("a webhook forbids it, once", {"refuse": {"code": 403, "message": "not now"}}),
    ("a conflict of versions", {"refuse": {"code": 409, "reason": "Conflict"}}),
    ("a conflict of names", {"refuse": {"code": 409, "reason": "AlreadyExists"}}),
    ("the pod is said to be gone", {"refuse": {"code": 404}}),
]


class Answers(Example):
    targets = ("lab",)

    def answered(self, config, nth, action):
        """The `nth` binding of a gang is answered so, and the read that follows fails once."""
        since = self.api.get("/api/v1/pods")["metadata"]["resourceVersion"]
        scheduler = self.start_alone(config)
        binding = {"verb": "create", "resource": "pods", "subresource": "binding", "agent": "sky-scheduler", "nth": nth}
        read = {"verb": "get", "resource": "pods", "agent": "sky-scheduler"}
        self.api.must("POST", FAULTS, {"faults": [{"match": binding, "action": action},
                                                  {"match": read, "action": {"dropAnswer": True}}]})
        try:
            self.submit_gang()
            self.wait_until("the end", 30, self.finished)
            self.assertGreaterEqual(self.api.get(FAULTS)["faults"][0]["seen"], nth, "the fault never met a binding")
        finally:
            self.api.must("DELETE", FAULTS)
            code = scheduler.stop()
        self.assertEqual(code, 0)
        self.bound_once(since)

    def test_whatever_a_binding_is_answered_the_gang_lands_whole_and_once(self):
        for order in ("placementFirst", "quotaFirst"):
            for number, (name, action) in enumerate(ANSWERS):
                if order == "quotaFirst" and number % 3:
                    continue  # what a binding is answered doesn't depend on it; a few show that
                with self.subTest(f"{order}: {name}"):
                    self.draw_cluster(f"{order.lower()}{number}")
                    self.answered(f"commitOrder: {order}\n", 1 + number % WORKERS, action)
                self.forget_round()
