# SPDX-License-Identifier: Apache-2.0
"""Two ways to talk to a cluster: Kubectl, the real program, and Api, plain requests for what kubectl can't say.
Both know nothing but a kubeconfig."""
import base64
import http.client
import json
import os
import ssl
import subprocess
import tempfile
import urllib.parse

import yaml


class Failed(AssertionError):
    """A request or command that was expected to succeed didn't."""


def file_of(config, key, folder):
    """The file that a kubeconfig names by `key` or holds as `key`-data; None without either."""
    if config.get(f"{key}-data"):
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(base64.b64decode(config[f"{key}-data"]))
        return file.name
    return config.get(key)


class Api:
    """Requests as the user of a kubeconfig. One connection, so one thread."""

    def __init__(self, kubeconfig):
        folder = os.path.dirname(kubeconfig)
        with open(kubeconfig, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        context = next(c["context"] for c in config["contexts"] if c["name"] == config["current-context"])
        cluster = next(c["cluster"] for c in config["clusters"] if c["name"] == context["cluster"])
        users = [u.get("user") or {} for u in config.get("users") or [] if u["name"] == context.get("user")]
        self.user = users[0] if users else {}
        url = urllib.parse.urlsplit(cluster["server"])
        if url.scheme == "https":
            tls = ssl.create_default_context(cafile=file_of(cluster, "certificate-authority", folder))
            certificate = file_of(self.user, "client-certificate", folder)
            if certificate:
                tls.load_cert_chain(certificate, file_of(self.user, "client-key", folder))
            self.connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=60, context=tls)
        else:
            self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        self.headers = {}  # of the last answer

    def token(self):
        if self.user.get("tokenFile"):
            with open(self.user["tokenFile"], encoding="utf-8") as file:
                return file.read().strip()
        return self.user.get("token")

    def request(self, method, path, body=None, content_type="application/json"):
        """(HTTP status, decoded answer). `body` is sent as JSON."""
        headers = {"Accept": "application/json", "Content-Type": content_type, "User-Agent": "sky-e2e"}
        if self.token():
            headers["Authorization"] = f"Bearer {self.token()}"
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        self.headers = answer.headers
        text = answer.read().decode()
        if "json" in (answer.headers.get("Content-Type") or ""):
            return answer.status, json.loads(text)
        return answer.status, text

    def must(self, method, path, body=None, content_type="application/json"):
        status, answer = self.request(method, path, body, content_type)
        if status >= 300:
            raise Failed(f"{method} {path}: {status} {answer}")
        return answer

    def watch(self, path):
        """The events of a watch that ends by itself (timeoutSeconds), oldest first."""
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {self.token()}"} if self.token() else {})
        self.connection.request("GET", path, headers=headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise Failed(f"GET {path}: {answer.status} {text}")
        return [json.loads(line) for line in text.splitlines() if line]

    def get(self, path):
        return self.must("GET", path)

    def create(self, path, body):
        return self.must("POST", path, body)

    def close(self):
        self.connection.close()


class Kubectl:
    def __init__(self, program, kubeconfig, cache):
        self.command = [program, "--kubeconfig", kubeconfig, "--cache-dir", cache]

    def run(self, *arguments, stdin=None, env=None):
        """The finished process: returncode, stdout, stderr. `env` is added to ours."""
        return subprocess.run([*self.command, *arguments], input=stdin, capture_output=True, text=True, timeout=60,
                              stdin=None if stdin is not None else subprocess.DEVNULL, check=False,
                              env=os.environ | (env or {}))

    def must(self, *arguments, stdin=None):
        """stdout of a command that has to succeed."""
        done = self.run(*arguments, stdin=stdin)
        if done.returncode != 0:
            raise Failed(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def apply(self, *objects):
        return self.must("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))
