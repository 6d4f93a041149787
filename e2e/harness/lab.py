# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster, `skyctl lab up`, seen as RealCluster is seen: the same tests hold it to the truth. It has
no users and no rights: every account is the same."""
import os

from harness.client import Api, Kubectl
from harness.processes import Processes, StartError, free_port


class LabCluster:
    name = "lab"

    def __init__(self, programs, folder, skyctl):
        self.programs, self.folder, self.skyctl = programs, folder, skyctl
        self.processes = Processes(folder)

    def kubeconfig(self, user):
        del user
        return os.path.join(self.folder, "lab.kubeconfig")

    def api(self, user="admin"):
        return Api(self.kubeconfig(user))

    def kubectl(self, user="admin"):
        return Kubectl(os.path.join(self.programs, "kubectl"), self.kubeconfig(user),
                       os.path.join(self.folder, "kubectl-cache"))

    def start(self):
        if not os.access(self.skyctl, os.X_OK):
            raise StartError(f"{self.skyctl} is missing: ./run build makes it")
        os.makedirs(self.folder, exist_ok=True)
        lab = self.processes.start("lab", [self.skyctl, "lab", "up", "--port", free_port(),
                                           "--kubeconfig", self.kubeconfig("admin"), "--no-kubelets"])
        try:
            lab.wait_ready(30, lambda: "ready" in lab.tail())
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self.processes.stop()
