#!/usr/bin/env python3
"""Certificates of a running `capstan server` are replaced.

    tests/cluster/reload_test.py BIN_DIR
"""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from processes import CAPSTAN, PATIENCE, environment, free_ports


class Reload(unittest.TestCase):

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-reload-"))
        self.addCleanup(shutil.rmtree, self.dir)
        spec = {role: [f"127.0.0.1:{port}"] for role, port
                in zip(("chief", "worker", "ps"), free_ports(3))}
        self.file = self.dir / "cluster.yaml"
        self.file.write_text(json.dumps({"job_id": "test", "cluster": spec}))
        self.old = self.certs("old")
        self.new = self.certs("new")
        self.used = self.dir / "used"
        self.used.mkdir(mode=0o700)
        self.replace(self.old, "ca.pem", "ps.pem", "ps.key")
        self.log = self.dir / "log"
        with open(self.log, "w") as log:
            self.server = subprocess.Popen(
                [CAPSTAN, "server", "--cluster", self.file, "--task", "ps/0",
                 "--tls", self.used],
                env=environment(CAPSTAN_TLS_RELOAD="1"),
                stdout=subprocess.DEVNULL, stderr=log)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)

    def certs(self, name):
        folder = self.dir / name
        subprocess.run([CAPSTAN, "certs", folder], check=True,
                       stdout=subprocess.DEVNULL)
        return folder

    def replace(self, source, *names):
        for name in names:
            copy = self.used / (name + ".part")
            shutil.copy(source / name, copy)
            copy.rename(self.used / name)

    def answers(self, certs):
        """Whether the server answers somebody with these certificates."""
        done = subprocess.run(
            [CAPSTAN, "status", "--cluster", self.file, "--tls", certs],
            env=environment(), text=True, capture_output=True,
            timeout=PATIENCE)
        return any(line.startswith("ps/0") and "healthy" in line
                   for line in done.stdout.splitlines())

    def wait_until(self, done):
        deadline = time.monotonic() + PATIENCE
        while not done():
            self.assertIsNone(self.server.poll(), self.log.read_text())
            self.assertLess(time.monotonic(), deadline, self.log.read_text())
            time.sleep(0.1)

    def test_new_authority(self):
        self.wait_until(lambda: self.answers(self.old))
        self.assertFalse(self.answers(self.new))
        # One file at a time, as somebody with scp would: until the last one is
        # there they do not belong together, and the old ones stay.
        self.replace(self.new, "ca.pem")
        self.wait_until(lambda: "the old ones stay" in self.log.read_text())
        self.assertTrue(self.answers(self.old))
        self.replace(self.new, "ps.pem", "ps.key")
        self.wait_until(lambda: "new certificates are in use"
                        in self.log.read_text())
        self.assertTrue(self.answers(self.new))
        self.assertFalse(self.answers(self.old))


if __name__ == "__main__":
    unittest.main()
