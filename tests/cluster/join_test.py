#!/usr/bin/env python3
"""Workers that join a job of real processes, and leave it.

    tests/cluster/join_test.py BIN_DIR
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment, free_ports

PROGRAM = BIN / "waiting_program"
# Under `capstan run` nobody has an input: the chief gets the test's.
SCRIPT = f"""case $CAPSTAN_TASK in
  chief/0) exec {PROGRAM} < go;;
  *) exec {PROGRAM};;
esac"""


class Join(unittest.TestCase):
    """A job of one worker and one server, started by `capstan run`."""

    tls = False

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-join-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.flags = []
        # A job that is killed leaves its sockets behind.
        self.variables = {"TMPDIR": str(self.dir)}
        if self.tls:
            subprocess.run([CAPSTAN, "certs", self.dir / "certs"], check=True,
                           stdout=subprocess.DEVNULL)
            self.flags = ["--tls", "certs"]
            token = str(self.dir / "certs" / "token")
            self.variables["CAPSTAN_TOKEN"] = token
        os.mkfifo(self.dir / "go")
        self.job = self.popen([CAPSTAN, "run", "-w", "1", "-s", "1",
                               *self.flags, "--", "sh", "-c", SCRIPT],
                              "job.log")
        # Both ends, so that neither side waits for the other to open it.
        self.go = os.open(self.dir / "go", os.O_RDWR)
        self.addCleanup(self.close)
        self.await_log("job.log", "chief/0: ready")
        text = next(self.dir.glob("runs/*/cluster.yaml")).read_text()
        self.job_id = re.search(r"job_id: \"?(\w+)", text).group(1)
        self.address = dict(re.findall(r'"?(\w+)"?: ?\["?([^"\]]+)', text))
        self.chief = self.address["chief"]

    def close(self):
        if self.go is not None:
            os.close(self.go)
        self.go = None

    def popen(self, command, log, **variables):
        with open(self.dir / log, "w") as output:
            process = subprocess.Popen(
                command, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, env=environment(**self.variables, **variables))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def join(self, log, *flags, program=PROGRAM, **variables):
        """Starts a worker that joins, in the folder of the job."""
        return self.popen([CAPSTAN, "worker", "--join", self.chief,
                           *self.flags, *flags, "--", program], log,
                          **variables)

    def refused(self, *flags, code=1, cwd=None, **variables):
        """What a worker is told that may not join."""
        done = subprocess.run(
            [CAPSTAN, "worker", *flags, "--", PROGRAM], text=True,
            cwd=cwd or self.dir, capture_output=True, timeout=PATIENCE,
            env=environment(**self.variables, **variables))
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def log(self, name):
        return (self.dir / name).read_text(errors="replace")

    def await_log(self, name, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.log(name):
            self.assertLess(time.monotonic(), deadline, self.log(name))
            time.sleep(0.02)

    def states(self):
        done = subprocess.run(
            [CAPSTAN, "status", *self.flags], text=True, cwd=self.dir,
            capture_output=True, timeout=PATIENCE,
            env=environment(**self.variables))
        states = {}
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) > 2 and "/" in words[0] and ":" in words[1]:
                states[words[0]] = words[2].rstrip(",")
        return states

    def await_states(self, **states):
        """Until all tasks that there are, are so; worker_1 is worker/1."""
        wanted = {"chief/0": "healthy", "ps/0": "healthy",
                  "worker/0": "healthy"}
        wanted.update({name.replace("_", "/"): state
                       for name, state in states.items()})
        deadline = time.monotonic() + PATIENCE
        while (seen := self.states()) != wanted:
            self.assertLess(time.monotonic(), deadline, seen)

    def end(self):
        """Ends the job well."""
        # The end of its input: nobody else has the pipe open.
        self.close()
        self.assertEqual(self.job.wait(PATIENCE), 0, self.log("job.log"))


class OtherUsers(Join):
    """Of a job that `capstan run` has started with nothing said of security."""

    NOBODY = 65534

    def call_as_nobody(self):
        """Calls the chief as another user: what that sees."""
        script = ("import socket, sys\n"
                  "s = socket.socket(socket.AF_UNIX)\n"
                  "try:\n"
                  "    s.connect(sys.argv[1])\n"
                  "    print('closed' if s.recv(1) == b'' else 'answered')\n"
                  "except OSError as error:\n"
                  "    print(type(error).__name__)\n")
        path = self.chief.removeprefix("unix:")
        done = subprocess.run(["/usr/bin/python3", "-c", script, path],
                              text=True, cwd="/", capture_output=True,
                              timeout=PATIENCE, user=self.NOBODY, group=0,
                              extra_groups=[])
        return done.stdout.strip()

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_cannot_connect(self):
        path = pathlib.Path(self.chief.removeprefix("unix:"))
        self.dir.chmod(0o755)
        self.assertEqual(path.parent.stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.call_as_nobody(), "PermissionError")
        # Nor if the modes of the files do not keep them away.
        path.parent.chmod(0o755)
        path.chmod(0o666)
        self.assertEqual(self.call_as_nobody(), "closed")
        self.await_log("job.log", f"belongs to user {self.NOBODY}")
        self.await_states()
        self.end()
        self.assertFalse(path.parent.exists())


class Workers(Join):

    def test_joins_leaves_and_joins_again(self):
        os.write(self.go, b"datasets\n")
        self.await_log("job.log", "pipeline 0 of 1")
        worker = self.join("one.log")
        self.await_states(worker_1="healthy")
        # The first one shares its input with the second from now on.
        self.await_log("one.log", "pipeline 1 of 2")
        self.await_log("job.log", "pipeline 0 of 2")
        self.assertRegex(self.log("one.log"),
                         f"capstan: joins job {self.job_id} as worker/1 at "
                         r"unix:\S+/joined-\d+\n")
        self.assertIn("this is worker/1", self.log("one.log"))
        self.assertIn("joins the job", self.log("job.log"))
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(PATIENCE), 128 + signal.SIGTERM)
        self.await_states(worker_1="unreachable")
        # At another address it is another.
        second = self.join("two.log")
        self.await_states(worker_1="unreachable", worker_2="healthy")
        self.end()
        self.assertEqual(second.wait(PATIENCE), 0)

    def test_comes_back_at_its_address(self):
        address = f"127.0.0.1:{free_ports(1)[0]}"
        worker = self.join("one.log", "--listen", address)
        self.await_states(worker_1="healthy")
        self.assertIn(f"worker/1 of this job is at {address}", self.refused(
            "--join", self.chief, "--listen", address))
        worker.kill()
        self.await_states(worker_1="unreachable")
        self.join("two.log", "--listen", address)
        self.await_states(worker_1="restarted")

    def test_address_of_another_task(self):
        said = self.refused("--join", self.chief, "--listen", self.chief)
        self.assertIn(f"chief/0 of this job is at {self.chief}", said)

    def test_no_chief_there(self):
        port = free_ports(1)[0]
        said = self.refused("--join", f"127.0.0.1:{port}")
        self.assertIn("cannot join", said)
        self.assertIn(f"chief/0 at 127.0.0.1:{port}", said)
        self.assertIn("could not be reached", said)

    def test_another_task_there(self):
        said = self.refused("--join", self.address["ps"], "--job", self.job_id)
        self.assertIn("expected chief/0", said)

    def test_another_job(self):
        said = self.refused("--join", self.chief, "--job", "another")
        self.assertIn("'another'", said)
        self.assertNotIn(self.job_id, said)
        self.assertIn("--job", said)

    def test_job_of_another_folder(self):
        # Nobody there knows the job's id but who gives it.
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("--job", self.refused("--join", self.chief,
                                                cwd=folder))
        self.variables["CAPSTAN_JOB_ID"] = self.job_id
        self.join("one.log")
        self.await_log("one.log", "this is worker/1")

    def test_what_is_no_address(self):
        self.assertIn("no port", self.refused("--join", "here"))
        self.assertIn("no port", self.refused("--join", self.chief, "--listen",
                                              "here"))

    def test_address_for_others_needs_tls(self):
        said = self.refused("--join", self.chief, "--listen", "0.0.0.0:7077")
        self.assertIn("--tls", said)
        self.assertEqual(len(self.states()), 3)

    def test_chief_of_another_machine(self):
        said = self.refused("--join", "192.0.2.1:7077")
        self.assertIn("--listen", said)

    def test_usage(self):
        self.assertIn("--join", self.refused(code=2))
        for program, code in (("./nothing", 127), ("./go", 126)):
            worker = self.join("usage.log", program=program)
            self.assertEqual(worker.wait(PATIENCE), code)
        self.assertEqual(len(self.states()), 3)

    def test_environment_of_another_cluster(self):
        # It is in the job that it joins, wherever it was started.
        worker = self.join("one.log", TF_CONFIG="{}", CAPSTAN_TASK="ps/7",
                           CAPSTAN_CLUSTER="nowhere.yaml")
        self.await_states(worker_1="healthy")
        worker.kill()


class Tls(Join):
    tls = True

    def test_joins_with_a_certificate_and_a_token(self):
        worker = self.join("one.log")
        self.await_states(worker_1="healthy")
        self.end()
        self.assertEqual(worker.wait(PATIENCE), 0)

    def test_without_a_certificate(self):
        del self.variables["CAPSTAN_TOKEN"]
        self.assertIn("cannot join", self.refused("--join", self.chief))

    def test_with_the_certificate_of_another_role(self):
        certs = self.dir / "mine"
        shutil.copytree(self.dir / "certs", certs)
        for end in ("pem", "key"):
            shutil.copy(certs / f"ps.{end}", certs / f"worker.{end}")
        said = self.refused("--join", self.chief, "--tls", "mine")
        self.assertIn("certificate is for", said)


if __name__ == "__main__":
    unittest.main()
