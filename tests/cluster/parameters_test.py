#!/usr/bin/env python3
"""Variables on real `capstan server` processes.

    tests/cluster/parameters_test.py BIN_DIR
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment, free_ports

SERVERS = 2


class Parameters(unittest.TestCase):

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-parameters-"))
        self.addCleanup(shutil.rmtree, self.dir)
        ports = [f"127.0.0.1:{port}" for port in free_ports(SERVERS + 2)]
        spec = {"chief": ports[:1], "worker": ports[1:2], "ps": ports[2:]}
        self.file = self.dir / "cluster.yaml"
        self.file.write_text(json.dumps({"job_id": "test", "cluster": spec}))
        self.tls = []

    def start(self, *flags):
        """Starts the servers and the client that the test talks to."""
        self.servers = [
            self.popen([CAPSTAN, "server", "--cluster", self.file, "--task",
                        f"ps/{i}", *self.tls, *flags],
                       stderr=subprocess.DEVNULL)
            for i in range(SERVERS)]
        self.client = self.popen(
            [BIN / "parameter_program", self.file, *self.tls[1:]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def popen(self, command, **options):
        process = subprocess.Popen(command, env=environment(), **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for pipe in (process.stdin, process.stdout):
            if pipe:
                self.addCleanup(pipe.close)
        return process

    def ask(self, line):
        self.client.stdin.write(line + "\n")
        self.client.stdin.flush()
        return self.client.stdout.readline().strip()

    def status(self, *flags):
        done = subprocess.run(
            [CAPSTAN, "status", "--cluster", self.file, *self.tls, *flags],
            env=environment(), text=True, capture_output=True,
            timeout=PATIENCE)
        return done.stdout

    def stop(self, pid):
        """Stops a process: its threads do not all stop at once."""
        os.kill(pid, signal.SIGSTOP)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            stats = pathlib.Path(f"/proc/{pid}/task").glob("*/stat")
            states = [stat.read_text().rsplit(")", 1)[1].split()[0]
                      for stat in stats]
            if set(states) == {"T"}:
                return
        self.fail(f"{pid} does not stop: {states}")

    def check_updates(self):
        self.assertEqual(self.ask("create w 10"), "ok version 1")
        self.assertEqual(self.ask("push w 1"), "ok 2 applied, 0 already")
        self.assertEqual(self.ask("push w 1"), "ok 0 applied, 2 already")
        self.assertEqual(self.ask("push w 2"), "ok 2 applied, 0 already")
        self.assertEqual(self.ask("read w"), "ok -80")

    def test_updates_are_applied_once(self):
        self.start()
        self.check_updates()

    def test_with_tls(self):
        certs = self.dir / "certs"
        subprocess.run([CAPSTAN, "certs", certs], check=True,
                       stdout=subprocess.DEVNULL)
        self.tls = ["--tls", str(certs)]
        self.start()
        self.check_updates()

    def test_status_shows_what_they_hold(self):
        self.start()
        self.check_updates()
        servers = [line.split() for line in self.status().splitlines()
                   if line.startswith("ps/") and " MB " in line
                   and "healthy" not in line]
        self.assertEqual([line[0] for line in servers], ["ps/0", "ps/1"])
        for line in servers:
            # SHARDS, then APPLIED and DUPLICATES behind the two sizes.
            self.assertEqual(line[1], "1")
            self.assertEqual(line[6:8], ["2", "1"])
        shards = [line.split()[:3] for line
                  in self.status("--variables").splitlines()
                  if line.startswith("w ")]
        self.assertEqual(shards, [["w", "0", "ps/0"], ["w", "1", "ps/1"]])

    def test_memory_limit(self):
        self.start("--memory", "1")
        answer = self.ask("create huge 1000000")
        self.assertIn("ResourceExhausted", answer)
        self.assertIn("'huge'", answer)
        self.assertIn("--memory", answer)
        self.check_updates()

    def test_a_killed_server_is_named(self):
        self.start()
        self.check_updates()
        self.servers[1].send_signal(signal.SIGKILL)
        self.servers[1].wait()
        answer = self.ask("push w 3")
        self.assertRegex(answer,
                         r"^error ps/1: .*\((Unavailable|DeadlineExceeded)\)$")

    def test_a_stopped_server_goes_on(self):
        self.start()
        self.check_updates()
        self.stop(self.servers[0].pid)
        answer = self.ask("push w 3")
        self.assertRegex(answer, "^error ps/0: .*")
        os.kill(self.servers[0].pid, signal.SIGCONT)
        # Whatever became of it there, it is applied once.
        self.assertRegex(self.ask("push w 3"), "^ok")
        self.assertEqual(self.ask("read w"), "ok -120")


if __name__ == "__main__":
    unittest.main()
