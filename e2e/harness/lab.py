# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster, `skyctl lab up`, seen as RealCluster is seen: the same tests hold it to the truth. It has
no users and no rights: every account is the same."""
import os
import secrets

import yaml

from harness.client import Api, Kubectl
from harness.processes import Processes, StartError, free_port, replace_file


class LabCluster:
    name = "lab"

    def __init__(self, programs, folder, skyctl):
        self.programs, self.folder, self.skyctl = programs, folder, skyctl
        self.processes = Processes(folder)

    def kubeconfig(self, user):
        """The one of everybody; of an account that has got a token, its own."""
        own = os.path.join(self.folder, f"{user}.kubeconfig")
        return own if os.path.exists(own) else os.path.join(self.folder, "lab.kubeconfig")

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

    def rotate_token(self, account):
        """Another token for a program of that name: the server refuses it any other from now on."""
        token = os.path.join(self.folder, f"{account}.token")
        text = secrets.token_hex(16)
        replace_file(token, text)
        with open(self.kubeconfig("admin"), encoding="utf-8") as file:
            config = yaml.safe_load(file)
        config["users"][0]["user"] = {"tokenFile": token}
        replace_file(os.path.join(self.folder, f"{account}.kubeconfig"), yaml.safe_dump(config))
        api = self.api()
        api.must("DELETE", "/lab/faults")
        api.must("POST", "/lab/faults", {"faults": [{"match": {"agent": account, "tokenIsNot": text, "count": 0},
                                                     "action": {"refuse": {"code": 401}}}]})
        api.close()

    def any_token(self, account):
        """As it was before rotate_token."""
        api = self.api()
        api.must("DELETE", "/lab/faults")
        api.close()
        os.remove(os.path.join(self.folder, f"{account}.kubeconfig"))

    def forget_history(self):
        """As compaction does: older watches and lists get 410."""
        api = self.api()
        api.must("POST", "/lab/compact")
        api.close()

    def stop(self):
        self.processes.stop()
