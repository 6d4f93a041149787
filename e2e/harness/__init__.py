# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests stand on: a cluster to talk to (real.py, lab.py), ways to talk to it (client.py)
and processes that never outlive the run (processes.py)."""
