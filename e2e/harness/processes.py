# SPDX-License-Identifier: Apache-2.0
"""Child processes with a log each. They stop in the reverse of the order in which they started, and the
kernel ends them should this program die first, so that none is left behind."""
import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class StartError(Exception):
    """A program didn't come up; says why, with the end of its log."""


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(what, seconds, ready, interval=0.05):
    """Polls ready() until it gives something true, and returns that; TimeoutError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = ready()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(interval)


def replace_file(path, text):
    """Whoever reads it sees the old text or the new one, never a part."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


def built_programs():
    """The folder with kube-apiserver, etcd and the others, built first when they are missing."""
    built = subprocess.run([os.path.join(ROOT, "e2e", "programs")], stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        sys.exit(built.returncode)
    return built.stdout.strip()


def fresh_folder(name):
    """.cache/e2e/NAME, emptied, and held against a second run of the same work tree by the lock that comes with it."""
    folder = os.path.join(ROOT, ".cache", "e2e", name)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    lock = open(f"{folder}.lock", "w", encoding="utf-8")
    fcntl.flock(lock, fcntl.LOCK_EX)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder, lock


class Process:
    def __init__(self, name, command, log, env=None):
        self.name, self.log = name, log
        with open(log, "ab") as file:
            self.child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=file,
                                          stderr=file, env=env, preexec_fn=die_with_parent)

    @property
    def pid(self):
        return self.child.pid

    def running(self):
        return self.child.poll() is None

    def tail(self, lines=20):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])

    def wait_ready(self, seconds, ready):
        """Waits for ready(), and fails at once when the process ends before."""
        def answer():
            if not self.running():
                raise StartError(f"{self.name} ended with code {self.child.returncode}:\n{self.tail()}")
            return ready()
        try:
            return wait_until(f"{self.name} ready", seconds, answer)
        except TimeoutError as error:
            raise StartError(f"{error}:\n{self.tail()}") from error

    def stop(self, seconds=15):
        """SIGTERM, then SIGKILL; returns the exit code (negative: the signal that ended it)."""
        if self.running():
            self.child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(seconds)
        return self.kill()

    def kill(self):
        """SIGKILL, as a power cut does."""
        if self.running():
            self.child.kill()
        return self.child.wait()


class Processes:
    """The processes of one cluster; a folder holds their logs."""

    def __init__(self, folder):
        self.folder, self.started = folder, []

    def start(self, name, command, env=None):
        process = Process(name, command, os.path.join(self.folder, f"{name}.log"), env)
        self.started.append(process)
        return process

    def stop(self):
        while self.started:
            self.started.pop().stop()
