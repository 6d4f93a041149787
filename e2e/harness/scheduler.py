# SPDX-License-Identifier: Apache-2.0
"""sky-scheduler as a process beside a cluster, under the rights of its own account."""
import http.client
import os

from harness.processes import Process
from harness.real import ROOT

ACCOUNT = "sky-scheduler"


class Scheduler:
    started = 0  # of this run: each has a log of its own

    def __init__(self, cluster, config="", flags=()):
        Scheduler.started += 1
        name = f"sky-scheduler-{Scheduler.started}"
        self.port_file = os.path.join(cluster.folder, f"{name}.port")
        if os.path.exists(self.port_file):
            os.remove(self.port_file)
        command = [os.path.join(ROOT, "build", "bin", "sky-scheduler"), "--kubeconfig", cluster.kubeconfig(ACCOUNT),
                   "--http-port-file", self.port_file, *flags]
        if config:
            path = os.path.join(cluster.folder, f"{name}.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(config)
            command += ["--config", path]
        self.process = Process(name, command, os.path.join(cluster.folder, f"{name}.log"))

    def leads(self):
        return "leading, epoch" in self.process.tail(200)

    def ready(self):
        """It has read every kind: it could lead at once."""
        try:
            with open(self.port_file, encoding="utf-8") as file:
                connection = http.client.HTTPConnection("127.0.0.1", int(file.read()), timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, ValueError):
            return False

    def metrics(self):
        """/metrics as {series: value}, the series as it is written there."""
        with open(self.port_file, encoding="utf-8") as file:
            connection = http.client.HTTPConnection("127.0.0.1", int(file.read()), timeout=5)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return {series: float(value) for series, value in
                (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))}

    def stop(self):
        return self.process.stop()

    def kill(self):
        return self.process.kill()
