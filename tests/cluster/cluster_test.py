#!/usr/bin/env python3
"""Jobs of real processes: who is there, what happens to them, and that all of
them end with the job.

    tests/cluster/cluster_test.py BIN_DIR
"""

import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment, free_ports

PROGRAM = BIN / "waiting_program"


class Job(unittest.TestCase):
    """One chief, one worker and two servers."""

    tls = False

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-cluster-"))
        self.addCleanup(shutil.rmtree, self.dir)
        ports = [f"127.0.0.1:{port}" for port in free_ports(4)]
        self.spec = {"chief": ports[:1], "worker": ports[1:2], "ps": ports[2:]}
        self.file = self.dir / "cluster.yaml"
        self.file.write_text(json.dumps({"job_id": "test",
                                         "cluster": self.spec}))
        self.variables = {"CAPSTAN_RETURN_TIMEOUT": "30",
                          "CAPSTAN_CLUSTER": str(self.file)}
        if self.tls:
            certs = self.dir / "certs"
            subprocess.run([CAPSTAN, "certs", certs], check=True,
                           stdout=subprocess.DEVNULL)
            self.variables["CAPSTAN_TLS"] = str(certs)
        self.tasks = {}

    def start(self, name, **variables):
        command = [CAPSTAN, "server"] if name.startswith("ps") else [PROGRAM]
        env = environment(CAPSTAN_TASK=name, **self.variables, **variables)
        log = open(self.dir / f"{name.replace('/', '-')}.log", "a")
        task = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=log, text=True)
        log.close()
        self.addCleanup(task.stdout.close)
        self.addCleanup(task.stdin.close)
        self.addCleanup(task.wait)
        self.addCleanup(task.kill)
        self.tasks[name] = task
        return task

    def start_all(self):
        for name in ("ps/0", "ps/1", "worker/0"):
            self.start(name)
        chief = self.start("chief/0")
        self.assertIn("ready", chief.stdout.readline())
        return chief

    def log(self, name):
        return (self.dir / f"{name.replace('/', '-')}.log").read_text()

    def status(self, *flags):
        """What `capstan status` says: its exit code, the state of each task,
        and all of its text."""
        done = subprocess.run([CAPSTAN, "status", *flags], text=True,
                              env=environment(**self.variables),
                              capture_output=True, timeout=PATIENCE)
        states = {}
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) > 2 and "/" in words[0] and ":" in words[1]:
                states[words[0]] = words[2]
        return done.returncode, states, done.stdout + done.stderr

    def await_state(self, task, state):
        deadline = time.monotonic() + PATIENCE
        while True:
            code, states, text = self.status()
            if states.get(task, "").rstrip(",") == state:
                return code, text
            self.assertLess(time.monotonic(), deadline, text)

    def expect_end(self, codes):
        for name, code in codes.items():
            self.assertEqual(self.tasks[name].wait(PATIENCE), code, name)


class Processes(Job):

    def test_all_are_healthy_and_end_with_the_job(self):
        chief = self.start_all()
        code, states, text = self.status()
        self.assertEqual(code, 0, text)
        self.assertEqual(states, {"chief/0": "healthy", "worker/0": "healthy",
                                  "ps/0": "healthy", "ps/1": "healthy"}, text)
        self.assertIn("job test, term 1", text)
        chief.stdin.close()
        self.expect_end({"chief/0": 0, "worker/0": 0, "ps/0": 0, "ps/1": 0})

    def test_body_that_fails_ends_the_job(self):
        chief = self.start_all()
        chief.stdin.write("fail\n")
        chief.stdin.close()
        self.expect_end({"chief/0": 1, "worker/0": 0, "ps/0": 0, "ps/1": 0})
        self.assertIn("the body was told to fail", self.log("chief/0"))

    def test_body_that_fails_is_not_tried_again_by_capstan_run(self):
        # The tasks have left with the job: another chief would wait for them.
        done = subprocess.run(
            [CAPSTAN, "run", "-w", "1", "-s", "1", "--max-restarts", "10", "--",
             "sh", "-c", f"echo fail | {PROGRAM}"], text=True, cwd=self.dir,
            env=environment(), capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn("restarting", done.stderr)
        self.assertIn("the body was told to fail",
                      done.stderr.splitlines()[-1])
        code, text = self.status_here()
        self.assertEqual(code, 1)
        self.assertRegex(text, r"^job \w+ ended at .* UTC with exit code 1 "
                         r"\(chief/0 .* failed with exit code 1\); logs in "
                         r"runs/.*/logs\n$")

    def test_finished_job(self):
        subprocess.run([CAPSTAN, "run", "-w", "1", "-s", "1", "--", PROGRAM],
                       cwd=self.dir, env=environment(), check=True,
                       capture_output=True, timeout=PATIENCE)
        code, text = self.status_here()
        self.assertEqual(code, 0)
        self.assertRegex(text, r"^job \w+ finished at .* UTC with exit code 0; "
                         r"logs in runs/.*/logs\n$")

    def status_here(self):
        """What `capstan status` says in the test's folder."""
        done = subprocess.run([CAPSTAN, "status"], text=True, cwd=self.dir,
                              env=environment(), capture_output=True,
                              timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def test_job_that_was_not_started(self):
        code, states, text = self.status()
        self.assertEqual(code, 1)
        self.assertEqual(states, {})
        self.assertEqual(text, "job test is not running: nobody listens at any "
                         "of its 4 addresses; it has ended, or was not "
                         "started\n")

    def test_hung_chief(self):
        chief = self.start_all()
        chief.send_signal(signal.SIGSTOP)
        code, states, text = self.status("--timeout", "1")
        self.assertEqual(code, 1)
        self.assertEqual(states, {"chief/0": "silent", "worker/0": "healthy",
                                  "ps/0": "healthy", "ps/1": "healthy"}, text)
        self.assertRegex(text, r"^job test, term 1: chief/0 does not answer; "
                         r"the other tasks last heard it [0-9.]+ s ago\n")
        chief.send_signal(signal.SIGCONT)
        self.await_state("chief/0", "healthy")
        chief.stdin.close()
        self.expect_end({"chief/0": 0, "worker/0": 0, "ps/0": 0, "ps/1": 0})

    def test_killed_task_is_shown_and_rejoins(self):
        self.start_all()
        self.tasks["worker/0"].kill()
        code, _ = self.await_state("worker/0", "unreachable")
        self.assertEqual(code, 1)
        self.start("worker/0")
        code, text = self.await_state("worker/0", "restarted")
        self.assertEqual(code, 0, text)
        self.tasks["chief/0"].stdin.close()
        self.expect_end({"chief/0": 0, "worker/0": 0, "ps/0": 0})

    def test_stopped_task_is_shown_and_goes_on(self):
        self.start_all()
        self.tasks["ps/1"].send_signal(signal.SIGSTOP)
        self.await_state("ps/1", "silent")
        self.tasks["ps/1"].send_signal(signal.SIGCONT)
        self.await_state("ps/1", "healthy")

    def test_terminated_task_leaves_in_order(self):
        self.start_all()
        self.tasks["ps/0"].terminate()
        self.expect_end({"ps/0": 128 + signal.SIGTERM})
        self.assertIn("received SIGTERM; shutting down", self.log("ps/0"))
        self.await_state("ps/0", "unreachable")

    def test_tasks_give_up_a_dead_chief(self):
        self.variables["CAPSTAN_RETURN_TIMEOUT"] = "3"
        self.start_all()
        self.tasks["chief/0"].kill()
        # Meanwhile they answer for themselves.
        code, states, text = self.status()
        self.assertEqual(code, 1)
        self.assertIn("chief/0 is not running", text)
        self.assertEqual(states["chief/0"], "missing", text)
        self.expect_end({"worker/0": 1, "ps/0": 1, "ps/1": 1})
        self.assertIn("giving up on the job", self.log("ps/0"))

    def test_chief_comes_back(self):
        self.start_all()
        self.tasks["chief/0"].kill()
        self.tasks["chief/0"].wait()
        chief = self.start("chief/0")
        self.assertEqual(chief.stdout.readline(), "ready, term 2\n")
        chief.stdin.close()
        self.expect_end({"chief/0": 0, "worker/0": 0, "ps/0": 0, "ps/1": 0})

    def start_second_chief(self):
        # At another address, as two on one address cannot be.
        port = free_ports(1)[0]
        return self.start("chief/0", CAPSTAN_LISTEN=f"127.0.0.1:{port}")

    def await_log(self, name, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.log(name):
            self.assertLess(time.monotonic(), deadline, self.log(name))
            time.sleep(0.02)

    def test_second_chief_is_refused(self):
        first = self.start_all()
        second = self.start_second_chief()
        self.assertEqual(second.wait(PATIENCE), 1)
        self.assertRegex(
            self.log("chief/0").splitlines()[-1],
            "this job already has a coordinator at "
            rf"{self.spec['chief'][0]} \(term 1\), heard \d+ ms ago by "
            "worker/0, ps/0, ps/1; stop it first")
        self.assertIn("refused a second coordinator", self.log("ps/0"))
        # The first has noticed nothing.
        code, _, text = self.status()
        self.assertEqual(code, 0, text)
        self.assertIn("job test, term 1", text)
        first.stdin.close()
        self.assertEqual(first.wait(PATIENCE), 0)
        self.expect_end({"worker/0": 0, "ps/0": 0, "ps/1": 0})

    def test_second_chief_waits_and_replaces_a_silent_one(self):
        first = self.start_all()
        second = self.start_second_chief()
        self.await_log("chief/0", "this job already has a coordinator")
        first.send_signal(signal.SIGSTOP)
        self.assertEqual(second.stdout.readline(), "ready, term 2\n")
        # Its body waits for a line that does not come.
        first.send_signal(signal.SIGCONT)
        self.assertEqual(first.wait(PATIENCE), 1)
        self.assertRegex(
            self.log("chief/0"),
            r"another coordinator \(127.0.0.1:\d+, term 2\) has taken over "
            r"the job from this one \(term 1\)")
        second.stdin.close()
        self.expect_end({"chief/0": 0, "worker/0": 0, "ps/0": 0, "ps/1": 0})


class Tls(Job):
    tls = True

    def test_job_with_certificates(self):
        chief = self.start_all()
        code, _, text = self.status()
        self.assertEqual(code, 0, text)
        chief.stdin.close()
        self.expect_end({"chief/0": 0, "worker/0": 0, "ps/0": 0, "ps/1": 0})

    def test_plain_caller_learns_nothing(self):
        self.start_all()
        del self.variables["CAPSTAN_TLS"]
        code, states, text = self.status()
        self.assertEqual(code, 1)
        self.assertNotIn("healthy", states.values(), text)

    def test_job_with_a_token(self):
        certs = pathlib.Path(self.variables["CAPSTAN_TLS"])
        self.variables["CAPSTAN_TOKEN"] = str(certs / "token")
        chief = self.start_all()
        code, _, text = self.status()
        self.assertEqual(code, 0, text)
        # Who has a certificate and no token, or another one, learns nothing.
        del self.variables["CAPSTAN_TOKEN"]
        code, states, text = self.status()
        self.assertEqual(code, 1)
        self.assertNotIn("healthy", states.values(), text)
        self.assertIn("admin/0 shows no job token", text)
        other = self.dir / "other"
        subprocess.run([CAPSTAN, "certs", other], check=True,
                       stdout=subprocess.DEVNULL)
        self.variables["CAPSTAN_TOKEN"] = str(other / "token")
        code, _, text = self.status()
        self.assertEqual(code, 1)
        self.assertIn("admin/0 shows another job token", text)
        secrets = [(folder / "token").read_text().strip()
                   for folder in (certs, other)]
        for said in (text, *map(self.log, self.tasks)):
            for secret in secrets:
                self.assertNotIn(secret, said)
        chief.stdin.close()
        self.expect_end({"chief/0": 0, "worker/0": 0, "ps/0": 0, "ps/1": 0})


if __name__ == "__main__":
    unittest.main()
