#!/usr/bin/env python3
"""What `capstan doctor` says of real processes.

    tests/cluster/doctor_test.py BIN_DIR
"""

import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from processes import CAPSTAN, PATIENCE, environment, free_ports


class Doctor(unittest.TestCase):
    """One chief, one worker and one server, of which few are started."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-doctor-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.ports = free_ports(3)
        spec = {role: [f"127.0.0.1:{port}"] for role, port
                in zip(("chief", "worker", "ps"), self.ports)}
        self.file = self.dir / "cluster.yaml"
        self.file.write_text(json.dumps({"job_id": "test", "cluster": spec}))

    def start(self, task, *flags, **variables):
        server = subprocess.Popen(
            [CAPSTAN, "server", "--cluster", self.file, "--task", task, *flags],
            env=environment(**variables), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server

    def certs(self, name):
        folder = self.dir / name
        subprocess.run([CAPSTAN, "certs", folder], check=True,
                       stdout=subprocess.DEVNULL)
        return folder

    def doctor(self, *flags, cluster=True):
        """Its exit code, and its lines by level."""
        command = [CAPSTAN, "doctor", *flags]
        if cluster:
            command += ["--cluster", self.file]
        done = subprocess.run(command, env=environment(), text=True,
                              cwd=self.dir, capture_output=True,
                              timeout=PATIENCE)
        self.assertEqual(done.stderr, "")
        *found, last = done.stdout.splitlines()
        lines = {"ok": [], "warning": [], "PROBLEM": []}
        for line in found:
            level, _, rest = line.partition(" ")
            lines[level].append(rest.strip())
        self.assertRegex(last, r"^\d+ problems?, \d+ warnings?$")
        self.assertEqual(done.returncode, 1 if lines["PROBLEM"] else 0,
                         done.stdout)
        return done.returncode, lines

    def await_line(self, level, text, *flags):
        """Asks again until a line of that level has the text."""
        deadline = time.monotonic() + PATIENCE
        while True:
            _, lines = self.doctor(*flags)
            for line in lines[level]:
                if text in line:
                    return line, lines
            self.assertLess(time.monotonic(), deadline, lines)

    def test_machine_alone(self):
        _, lines = self.doctor(cluster=False)
        said = "\n".join(sum(lines.values(), []))
        for text in ("version: capstan", "CPU: ", "BLAS: ", "open files",
                     "threads", "memory", "folder", "loopback: ", "host: ",
                     "cluster: none"):
            self.assertIn(text, said)

    def test_json(self):
        done = subprocess.run([CAPSTAN, "doctor", "--json"], env=environment(),
                              text=True, cwd=self.dir, capture_output=True,
                              timeout=PATIENCE)
        self.assertEqual(done.stderr, "")
        said = json.loads(done.stdout)
        levels = [finding["level"] for finding in said["findings"]]
        self.assertEqual(levels.count("problem"), said["problems"])
        self.assertEqual(levels.count("warning"), said["warnings"])
        self.assertEqual(done.returncode, 1 if said["problems"] else 0)
        self.assertIn("open files",
                      "".join(finding["what"] for finding in said["findings"]))

    def test_blas(self):
        """Debian's reference BLAS, or none, is named with the remedy."""
        _, lines = self.doctor(cluster=False)
        [(level, line)] = [(level, line) for level, found in lines.items()
                           for line in found if line.startswith("BLAS: ")]
        if level == "ok":
            self.assertRegex(line, r"GFLOP/s \(/")
        else:
            self.assertRegex(line, "apt install|OPENBLAS_CORETYPE|runs here")

    def test_job_that_is_not_running(self):
        code, lines = self.doctor()
        self.assertEqual(code, 0, lines)
        self.assertEqual(sum("is free" in line for line in lines["ok"]), 3)
        self.assertTrue(any("ps/0: cannot connect" in line
                            for line in lines["warning"]), lines)

    def test_task_that_runs_and_one_that_does_not(self):
        self.start("ps/0")
        line, lines = self.await_line("ok", f":{self.ports[2]}: answers")
        self.assertRegex(line, r"ps/0 .* version \S+; 4096 bytes there and "
                               r"back in \d+ us")
        self.assertTrue(any(line.startswith("worker/0: cannot connect")
                            for line in lines["PROBLEM"]), lines)

    def test_port_of_somebody_else(self):
        other = socket.create_server(("127.0.0.1", self.ports[2]))
        self.addCleanup(other.close)
        code, lines = self.doctor()
        self.assertEqual(code, 1)
        self.assertTrue(any("the port is taken" in line and "ss -ltnp" in line
                            for line in lines["PROBLEM"]), lines)

    def test_description_with_a_mistake(self):
        self.file.write_text("cluster: {chief: [a]}\n")
        code, lines = self.doctor()
        self.assertEqual(code, 1)
        self.assertIn("cluster.yaml", lines["PROBLEM"][0])

    def test_certificates(self):
        certs = self.certs("one")
        self.start("ps/0", "--tls", certs)
        _, lines = self.await_line("ok", "ps/0 at", "--tls", certs)
        self.assertTrue(any("5 certificates" in line for line in lines["ok"]),
                        lines)
        line, _ = self.await_line("PROBLEM", "ps/0 at", "--tls",
                                  self.certs("two"))
        self.assertIn("same CA", line)

    def test_token(self):
        certs = self.certs("one")
        flags = ("--tls", certs, "--token", certs / "token")
        self.start("ps/0", *flags)
        _, lines = self.await_line("ok", "ps/0 at", *flags)
        self.assertTrue(any(line.startswith("token:") for line in lines["ok"]),
                        lines)
        line, _ = self.await_line("PROBLEM", "ps/0 at", *flags[:2])
        self.assertIn("shows no job token", line)

    def test_key_that_others_can_read(self):
        certs = self.certs("one")
        (certs / "ps.key").chmod(0o644)
        _, lines = self.doctor("--tls", certs)
        self.assertTrue(any("ps.key" in line and "chmod 600" in line
                            for line in lines["PROBLEM"]), lines)


if __name__ == "__main__":
    unittest.main()
