#!/usr/bin/env python3
"""`capstan run` without restarts, and a real chief that finds out what the job
has lost: its report is seen, and its exit code is that of the job.

    tests/cluster/run_report_test.py BIN_DIR
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment

# What the chief is told to do; it then ends, with another code than 0.
SCRIPT = """
case $CAPSTAN_TASK in
chief/0) echo "$0" | tr ',' '\\n' | "$@" && exit 9;;
*) exec "$@";;
esac
"""


class RunReport(unittest.TestCase):

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-report-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def start(self, workers, commands, *options):
        self.run_process = subprocess.Popen(
            [CAPSTAN, "run", "-w", str(workers), "-s", "1", "--", "sh", "-c",
             SCRIPT, commands, BIN / "coordinator_program", self.dir, *options],
            cwd=self.dir, env=environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.addCleanup(self.run_process.stdout.close)
        self.addCleanup(self.run_process.wait)
        self.addCleanup(self.run_process.kill)

    def await_file(self, pattern):
        deadline = time.monotonic() + PATIENCE
        while not list(self.dir.glob(pattern)):
            self.assertLess(time.monotonic(), deadline, pattern)
            self.assertIsNone(self.run_process.poll())
            time.sleep(0.005)

    def kill(self, task):
        """Kills the process of a task."""
        parent = self.run_process.pid
        children = pathlib.Path(f"/proc/{parent}/task/{parent}/children")
        for pid in children.read_text().split():
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            if f"CAPSTAN_TASK={task}".encode() in variables.split(b"\0"):
                os.kill(int(pid), signal.SIGKILL)
                return
        self.fail(f"no process of {task}")

    def expect_report(self, reason, report, first):
        text, _ = self.run_process.communicate(timeout=PATIENCE)
        self.assertEqual(self.run_process.returncode, 9, text)
        self.assertRegex(text, f"SIGKILL; the job cannot continue without "
                         f"{reason}; waiting up to 10 s for chief/0")
        self.assertRegex(text, "(?s)capstan: first failure: "
                         f"{first} .* was killed by SIGKILL.*"
                         "capstan: then chief/0 .* failed with exit code 9; "
                         "the end of runs/.*/logs/chief-0.log:\n.*"
                         f"  error {report}[^\n]*\n[^\n]*\n?$")

    def test_poisoned_function(self):
        self.start(3, "schedule poison 1 gate,join")
        for number in range(1, 4):
            self.await_file(f"gate{number}.*")
            (self.dir / f"gate{number}").touch()
        self.expect_report("a worker",
                           r".*\[PoisonedClosure( worker/\d){3}\]",
                           r"worker/\d")

    def test_lost_server(self):
        self.start(1, "schedule wait 1 gate,until_error join")
        self.await_file("gate.*")
        self.kill("ps/0")
        self.expect_report("a parameter server", "Unavailable ps/0", "ps/0")

    def test_all_workers_are_lost(self):
        self.start(1, "schedule wait 1 gate,until_error join",
                   "no_worker_timeout=500")
        self.await_file("gate.*")
        self.kill("worker/0")
        self.expect_report("a worker", "Unavailable .*worker/0", "worker/0")


if __name__ == "__main__":
    unittest.main()
