# SPDX-License-Identifier: Apache-2.0
"""A real control plane on loopback: etcd and kube-apiserver with TLS, RBAC and an audit log, kube-scheduler
beside ours, and a kubeconfig a user. Up in a few seconds; everything it writes is in one folder."""
import itertools
import json
import os
import subprocess

import yaml

from harness.client import Api, Kubectl
from harness.processes import ROOT, Processes, StartError, free_port, replace_file, wait_until

NAMESPACE = "sky-system"
# Admission that waits for a kube-controller-manager, which these clusters don't run.
NO_CONTROLLERS = ("ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds,StorageObjectInUseProtection,"
                  "RuntimeClass,PersistentVolumeClaimResize")
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
SCHEDULER_CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
}


# To be measured: writes reach the disk, nobody is queued, and no audit log is written.
FOR_LOAD = ["--enable-priority-and-fairness=false", "--max-requests-inflight=3000", "--max-mutating-requests-inflight=3000"]


class RealCluster:
    name = "real"

    def __init__(self, programs, folder, for_load=False):
        self.programs, self.folder, self.for_load = programs, folder, for_load
        self.processes = Processes(folder)
        self.port = self.server = None
        self.revocable, self.numbers = {}, itertools.count()  # account: the secret that its token hangs on

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def kubeconfig(self, user):
        return self.path(f"{user}.kubeconfig")

    def api(self, user="admin"):
        return Api(self.kubeconfig(user))

    def kubectl(self, user="admin", cache="kubectl-cache"):
        return Kubectl(os.path.join(self.programs, "kubectl"), self.kubeconfig(user), self.path(cache))

    def start(self):
        os.makedirs(self.folder, exist_ok=True)
        try:
            self.make_certificates()
            self.start_api_server()
            self.install()
            if not self.for_load:
                self.start_kube_scheduler()
        except BaseException:
            self.stop()
            raise

    def forget_history(self):
        """Nothing is left to do: the server knows no kind's past from before it began to serve it."""

    def stop(self):
        self.processes.stop()

    def make_certificates(self):
        self.openssl("req", "-x509", *self.new_key("ca"), "-subj", "/CN=sky-e2e-ca", "-days", "2", "-out", self.path("ca.crt"))
        self.certificate("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth")
        self.certificate("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth")
        self.certificate("kube-scheduler", "/CN=system:kube-scheduler", "extendedKeyUsage=clientAuth")
        self.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.path("accounts.key"))
        self.openssl("ec", "-in", self.path("accounts.key"), "-pubout", "-out", self.path("accounts.pub"))

    def new_key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.path(f"{name}.key")]

    def certificate(self, name, subject, extensions):
        request, ext = self.path(f"{name}.csr"), self.path(f"{name}.ext")
        with open(ext, "w", encoding="utf-8") as file:
            file.write(extensions + "\n")
        self.openssl("req", "-new", *self.new_key(name), "-subj", subject, "-out", request)
        self.openssl("x509", "-req", "-in", request, "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
                     "-CAcreateserial", "-days", "2", "-extfile", ext, "-out", self.path(f"{name}.crt"))

    def openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StartError(f"openssl {arguments[0]}: {done.stderr}")

    def start_api_server(self):
        etcd, peer = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        self.processes.start("etcd", [
            os.path.join(self.programs, "etcd"), "--data-dir", self.path("etcd"), "--log-level", "warn",
            "--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
            *([] if self.for_load else ["--unsafe-no-fsync"])])
        self.port = free_port()
        with open(self.path("audit-policy.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(AUDIT_POLICY, file)
        self.server = self.processes.start("kube-apiserver", [
            os.path.join(self.programs, "kube-apiserver"), f"--etcd-servers={etcd}", "--bind-address=127.0.0.1",
            f"--secure-port={self.port}", "--advertise-address=127.0.0.1", f"--cert-dir={self.path()}",
            f"--tls-cert-file={self.path('server.crt')}", f"--tls-private-key-file={self.path('server.key')}",
            f"--client-ca-file={self.path('ca.crt')}", "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.path('accounts.pub')}",
            f"--service-account-signing-key-file={self.path('accounts.key')}",
            "--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
            f"--disable-admission-plugins={NO_CONTROLLERS}",
            *(FOR_LOAD if self.for_load else [f"--audit-policy-file={self.path('audit-policy.yaml')}",
                                              f"--audit-log-path={self.path('audit.log')}"])])
        self.write_kubeconfig("admin", self.client_certificate("admin"))
        self.write_kubeconfig("kube-scheduler", self.client_certificate("kube-scheduler"))
        self.server.wait_ready(60, self.ready)

    def restart_api_server(self):
        """It ends as it does at an upgrade, and comes back on the same port with the same data."""
        command = self.server.child.args
        self.server.stop(60)
        self.server = self.processes.start("kube-apiserver", command)
        self.server.wait_ready(60, self.ready)

    def ready(self):
        try:
            api = self.api()
            status, _ = api.request("GET", "/readyz")
            api.close()
            return status == 200
        except OSError:
            return False

    def client_certificate(self, name):
        return {"client-certificate": self.path(f"{name}.crt"), "client-key": self.path(f"{name}.key")}

    def write_kubeconfig(self, name, user):
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                     "certificate-authority": self.path("ca.crt")}}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": name}}],
        }
        with open(self.kubeconfig(name), "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)

    def install(self):
        """What an operator installs: the kinds and the rights. Each of our accounts gets a kubeconfig with a token.
        With a discovery cache of its own: one from before our CRDs takes "quota" for ResourceQuota's short name."""
        kubectl = self.kubectl(cache="install-cache")
        kubectl.must("apply", "-f", os.path.join(ROOT, "deploy", "rbac", "namespace.yaml"))
        kubectl.must("apply", "-f", os.path.join(ROOT, "deploy", "rbac"))
        kubectl.must("apply", "-f", os.path.join(ROOT, "deploy", "crds"))
        kubectl.must("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        for account in kubectl.must("-n", NAMESPACE, "get", "serviceaccounts", "-o", "name").split():
            self.renew_token(account.split("/")[1])

    def renew_token(self, account, *bound):
        """A fresh token by TokenRequest, written where the account's kubeconfig points."""
        token = self.path(f"{account}.token")
        text = self.kubectl().must("-n", NAMESPACE, "create", "token", account, "--duration=3600s", *bound)
        replace_file(token, text)
        self.write_kubeconfig(account, {"tokenFile": token})

    def rotate_token(self, account):
        """Another token, which goes when this is called again: from then on the server refuses it."""
        kubectl, old = self.kubectl(), self.revocable.get(account)
        secret = f"{account}-{next(self.numbers)}"
        kubectl.must("-n", NAMESPACE, "create", "secret", "generic", secret)
        old_api = self.api(account)
        old_token = old_api.token()
        self.renew_token(account, "--bound-object-kind=Secret", f"--bound-object-name={secret}")
        self.revocable[account] = secret
        if old is not None:
            kubectl.must("-n", NAMESPACE, "delete", "secret", old)
            old_api.token = lambda: old_token
            wait_until("the old token's refusal", 30, lambda: old_api.request("GET", "/api/v1/nodes")[0] == 401)
        old_api.close()

    def any_token(self, account):
        """As it was before rotate_token."""
        self.renew_token(account)
        if account in self.revocable:
            self.kubectl().must("-n", NAMESPACE, "delete", "secret", self.revocable.pop(account))

    def start_kube_scheduler(self):
        self.processes.start("kube-scheduler", self.kube_scheduler())

    def kube_scheduler(self):
        """Its command line, with its settings written."""
        config = SCHEDULER_CONFIG | {"clientConnection": {"kubeconfig": self.kubeconfig("kube-scheduler"), "qps": 5000, "burst": 10000}}
        with open(self.path("kube-scheduler.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        return [
            os.path.join(self.programs, "kube-scheduler"), f"--config={self.path('kube-scheduler.yaml')}",
            "--bind-address=127.0.0.1", f"--secure-port={free_port()}", f"--cert-dir={self.path()}",
            f"--authentication-kubeconfig={self.kubeconfig('kube-scheduler')}",
            f"--authorization-kubeconfig={self.kubeconfig('kube-scheduler')}"]

    def audited(self, account):
        """Every finished request of one of our accounts so far, as audit events."""
        user, events = f"system:serviceaccount:{NAMESPACE}:{account}", []
        with open(self.path("audit.log"), encoding="utf-8") as file:
            for line in file:
                event = json.loads(line)
                if event["user"].get("username") == user and event["stage"] == "ResponseComplete":
                    events.append(event)
        return events

    def forbidden(self, account):
        """What an account was refused: "verb resource/subresource namespace/name" each."""
        refused = []
        for event in self.audited(account):
            if event.get("responseStatus", {}).get("code") == 403:
                ref = event.get("objectRef", {})
                resource = "/".join(filter(None, [ref.get("resource"), ref.get("subresource")]))
                refused.append(f"{event['verb']} {resource} {ref.get('namespace', '')}/{ref.get('name', '')}")
        return refused
