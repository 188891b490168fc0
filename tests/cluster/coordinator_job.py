"""A job of real processes whose chief does what a test tells it, and a relay that
cuts its tasks off from one another. For coordinator_processes_test.py."""

import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment, free_ports

PROGRAM = BIN / "coordinator_program"
LOOK = 0.005  # seconds between two looks at something


class Relay:
    """Stands between a task and those who call it. A cut relay loses nothing,
    as a network that is cut does not lose what TCP repeats: it holds it until
    it is mended."""

    def __init__(self, port, target):
        self.target = target
        self.callers = threading.Event()  # what they send passes
        self.answers = threading.Event()  # what they are sent passes
        self.mend()
        self.held = 0  # bytes of the largest piece that callers wait with
        self.given_up = False  # the task has closed a connection meanwhile
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def cut(self):
        self.callers.clear()
        self.answers.clear()

    def hold(self):
        """Holds what callers send, and not what they are sent."""
        self.held = 0
        self.given_up = False
        self.callers.clear()

    def mend(self):
        self.callers.set()
        self.answers.set()

    def accept(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(caller)
            threading.Thread(target=self.connect, args=(caller,),
                             daemon=True).start()

    def connect(self, caller):
        self.callers.wait()
        try:
            task = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            caller.close()
            return
        for one in (caller, task):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sockets.append(task)
        threading.Thread(target=self.pump, args=(task, caller, self.answers),
                         daemon=True).start()
        self.pump(caller, task, self.callers)

    def pump(self, source, sink, passes):
        """Until the source has ended, and all that it sent has passed."""
        while True:
            try:
                piece = source.recv(1 << 16)
            except OSError:
                piece = b""
            if not self.callers.is_set():
                if passes is self.callers:
                    self.held = max(self.held, len(piece))
                elif not piece:
                    self.given_up = True
            passes.wait()
            try:
                if not piece:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(piece)
            except OSError:
                return

    def close(self):
        self.mend()
        self.listener.close()
        for one in self.sockets:
            one.close()


class Job(unittest.TestCase):
    """A chief that the test talks to, `workers` workers and two servers."""

    workers = 2
    options = ()

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-coordinator-"))
        self.addCleanup(shutil.rmtree, self.dir)
        (self.dir / "notes").mkdir()
        ports = free_ports(self.workers + 3)
        self.ports = {"chief/0": ports[0], "ps/0": ports[1], "ps/1": ports[2]}
        for i in range(self.workers):
            self.ports[f"worker/{i}"] = ports[3 + i]
        self.tasks = {}
        self.variables = {}

    def start_all(self):
        for name in sorted(self.ports, reverse=True):
            self.start(name)
        self.expect_answer("ready")
        self.await_status(ready=self.workers)

    def tf_config(self, name, **ports):
        """What a task is told; `ports` are those that it sees elsewhere."""
        ports = self.ports | {task.replace("_", "/"): port
                              for task, port in ports.items()}
        cluster = {}
        for task, port in sorted(ports.items()):
            cluster.setdefault(task.split("/")[0], []).append(
                f"127.0.0.1:{port}")
        role, index = name.split("/")
        return json.dumps({"cluster": cluster,
                           "task": {"type": role, "index": int(index)}})

    def start(self, name, config=None, **variables):
        command = [PROGRAM, self.dir / "notes", *self.options]
        if name.startswith("ps/"):
            command = [CAPSTAN, "server"]
        elif name.startswith("worker/"):
            command = command[:2]
        env = environment(TF_CONFIG=config or self.tf_config(name),
                          CAPSTAN_JOB_ID="test", **self.variables, **variables)
        pipe = subprocess.PIPE if name == "chief/0" else subprocess.DEVNULL
        with open(self.log_file(name), "a") as log:
            task = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe,
                                    stderr=log, text=True)
        if name == "chief/0":
            self.answers = queue.Queue()
            reader = threading.Thread(target=self.read_answers,
                                      args=(task.stdout, self.answers))
            reader.start()
            self.addCleanup(reader.join)
            self.addCleanup(self.close, task.stdin)
        self.addCleanup(task.wait)
        self.addCleanup(task.kill)
        self.tasks[name] = task
        return task

    @staticmethod
    def read_answers(pipe, answers):
        with pipe:
            for line in pipe:
                answers.put(line.rstrip("\n"))
        answers.put(None)

    @staticmethod
    def close(pipe):
        try:
            pipe.close()
        except BrokenPipeError:
            pass

    def log_file(self, name):
        return self.dir / f"{name.replace('/', '-')}.log"

    def log(self, name="chief/0"):
        return self.log_file(name).read_text()

    # --- What the chief is told, and says.

    def tell(self, line):
        self.tasks["chief/0"].stdin.write(line + "\n")
        self.tasks["chief/0"].stdin.flush()

    def answer(self):
        try:
            answer = self.answers.get(timeout=PATIENCE)
        except queue.Empty:
            self.fail("no answer; the chief's log:\n" + self.log())
        self.assertIsNotNone(answer, self.log())
        return answer

    def ask(self, line):
        self.tell(line)
        return self.answer()

    def expect_answer(self, answer):
        self.assertEqual(self.answer(), answer, self.log())

    def expect(self, line, answer):
        self.assertEqual(self.ask(line), answer, self.log())

    def expect_error(self, code, task, text=""):
        """The answer is this error; returns its message."""
        answer = self.answer()
        self.assertTrue(answer.startswith("error "), answer)
        _, found, culprit, waited, message = answer.split(" ", 4)
        self.assertEqual((found, culprit), (code, task), answer)
        self.assertIn(text, message)
        self.waited = int(waited)
        return message

    def status(self):
        return {name: int(number) for name, number in
                (pair.split("=") for pair in self.ask("status").split())}

    def capstan_status(self, *flags):
        """What `capstan status` says: its exit code and its lines."""
        done = subprocess.run(
            [CAPSTAN, "status", *flags], text=True, capture_output=True,
            env=environment(TF_CONFIG=self.tf_config("chief/0"),
                            CAPSTAN_JOB_ID="test"), timeout=PATIENCE)
        return done.returncode, done.stdout.splitlines()

    # --- What the test waits for.

    def wait_for(self, look, what):
        """Until `look` returns something true, which is returned."""
        deadline = time.monotonic() + PATIENCE
        while not (seen := look()):
            self.assertLess(time.monotonic(), deadline,
                            f"{what()}; the chief's log:\n{self.log()}")
            time.sleep(LOOK)
        return seen

    def await_status(self, **wanted):
        seen = {}

        def look():
            seen.update(self.status())
            return all(seen[name] == wanted[name] for name in wanted)
        self.wait_for(look, lambda: f"waited for {wanted}, saw {seen}")

    def await_task(self, name, state):
        self.wait_for(lambda: f"{name}={state}" in self.ask("tasks").split(),
                      lambda: f"waited for {name} to be {state}")

    def at(self, gate):
        """Functions that came to a gate, the first one first: (step, task,
        pid)."""
        files = sorted((self.dir / "notes").glob(f"{gate}.*"),
                       key=lambda file: file.stat().st_mtime_ns)
        found = [file.name.split(".")[1:] for file in files]
        return [(int(step), task.replace("-", "/"), int(pid))
                for step, task, pid in found]

    def await_at(self, gate, count):
        self.wait_for(lambda: len(self.at(gate)) >= count,
                      lambda: f"waited for {count} at {gate}")
        self.assertEqual(len(self.at(gate)), count)
        return self.at(gate)

    def await_log(self, text, count=1, name="chief/0"):
        self.wait_for(lambda: len(re.findall(text, self.log(name))) >= count,
                      lambda: f"waited for {count} x {text!r}")

    # --- What the test does to the job.

    def open(self, gate):
        (self.dir / "notes" / gate).touch()

    def kill(self, *names):
        for name in names:
            self.tasks[name].kill()
        for name in names:
            self.assertEqual(self.tasks[name].wait(PATIENCE), -signal.SIGKILL)

    def stop(self, name):
        """Stops a process: its threads do not all stop at once."""
        pid = self.tasks[name].pid
        os.kill(pid, signal.SIGSTOP)

        def stopped():
            stats = pathlib.Path(f"/proc/{pid}/task").glob("*/stat")
            return {stat.read_text().rsplit(")", 1)[1].split()[0]
                    for stat in stats} == {"T"}
        self.wait_for(stopped, lambda: f"{name} does not stop")

    def end(self, **codes):
        """Ends the job: all that live exit with 0, or the code given."""
        alive = [name for name, task in self.tasks.items()
                 if task.poll() is None]
        # The chief tells those that it can reach.
        for name in alive:
            self.wait_for(lambda: not re.search(
                f" {name}=(unreachable|silent)", self.ask("tasks")),
                          lambda: f"{name} cannot be reached")
        self.close(self.tasks["chief/0"].stdin)
        for name in alive:
            self.assertEqual(self.tasks[name].wait(PATIENCE),
                             codes.get(name.replace("/", "_"), 0),
                             f"{name}: {self.log(name)}")
