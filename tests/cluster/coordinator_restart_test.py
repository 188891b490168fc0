#!/usr/bin/env python3
"""A coordinator that is killed again and again during one Fit, and started
again each time, as a supervisor does: no step is lost, and none is done twice.

    tests/cluster/coordinator_restart_test.py BIN_DIR [TEST ...]

CAPSTAN_TEST_SEED=N repeats the kills of a run that has printed N. CAPSTAN_KILLS
is how many there are (50).
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from processes import BIN, PATIENCE, environment, free_ports, logged_epochs

PROGRAM = BIN / "train_program"
# As in train_program.cc.
EPOCHS = 3
STEPS = EPOCHS * 301
EXAMPLES = 301 * 8 - 3
STEP = 0.004  # seconds, about: a kill comes so long after its place
# Steps that may have ended since the servers were last told (train/fit/fit_resume.cc
# and coordinator/dispatcher.cc): in 0.25 s, of three workers.
SLACK = 250
KILLS = int(os.environ.get("CAPSTAN_KILLS") or 50)


class Job:
    """A job of real processes. `with`: ends all of them."""

    def __init__(self, mode, workers=3, servers=2, places=(), arguments=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="capstan-restart-"))
        ports = free_ports(1 + workers + servers)
        address = [f"127.0.0.1:{port}" for port in ports]
        self.cluster = {"chief": address[:1],
                        "worker": address[1:1 + workers],
                        "ps": address[1 + workers:]}
        self.command = [str(PROGRAM), mode, str(self.folder),
                        *[f"fit={place}" for place in places], *arguments]
        self.tasks = {}
        self.chief = None
        self.text = []
        for job in ("ps", "worker"):
            for index in range(len(self.cluster[job])):
                self.start(job, index)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [self.chief, *self.tasks.values()]:
            if process is not None:
                process.kill()
                process.wait()
        if self.chief is not None:
            self.chief.stdout.close()
        shutil.rmtree(self.folder)

    def config(self, job, index):
        return json.dumps({"cluster": self.cluster,
                           "task": {"type": job, "index": index}})

    def start(self, job, index):
        log = open(self.folder / f"{job}-{index}.log", "a")
        self.tasks[job, index] = subprocess.Popen(
            self.command, env=environment(TF_CONFIG=self.config(job, index)),
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()

    def run_chief(self, kill_at, choose, on_line=None):
        """Runs the chief until it prints a place that it is to be killed at,
        and kills it soon after that; or to its end, and returns its code."""
        self.chief = subprocess.Popen(
            self.command, env=environment(TF_CONFIG=self.config("chief", 0)),
            cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        patience = threading.Timer(PATIENCE, self.chief.kill)
        patience.start()
        try:
            for line in self.chief.stdout:
                self.text.append(line.rstrip("\n"))
                if on_line is not None:
                    on_line(line)
                words = line.split()
                if words[:1] != ["at"]:
                    continue
                phase, place = words[1], int(words[2])
                (self.folder / f"{phase}-{place}").touch()
                if phase == "fit" and place in kill_at:
                    kill_at.discard(place)
                    time.sleep(choose.uniform(0, STEP))
                    self.chief.kill()
                    # What is left of its output.
            return self.chief.wait()
        finally:
            patience.cancel()
            self.chief.wait()
            self.chief.stdout.close()

    def said(self, kind):
        return [line[len(kind) + 1:] for line in self.text
                if line.startswith(kind + " ")]

    def results(self):
        return dict(line.split(" ", 1) for line in self.said("result"))


class CoordinatorRestartTest(unittest.TestCase):

    def setUp(self):
        seed = int(os.environ.get("CAPSTAN_TEST_SEED") or
                   random.SystemRandom().randrange(1 << 32))
        print(f"CAPSTAN_TEST_SEED={seed}", flush=True)
        self.random = random.Random(seed)

    def run_with_kills(self, mode):
        # A few more, as one may be passed in the moment before a kill.
        places = set(self.random.sample(range(STEPS - 20), KILLS * 3 // 2))
        kills = 0
        done = 0  # at least
        with Job(mode, places=sorted(places)) as job:
            begin = time.monotonic()
            while True:
                before = set(places)
                left = len(places)
                code = job.run_chief(places, self.random)
                # It goes on where the one before was, but for what was under
                # way, and what came in the last moment before the kill.
                begun = int(job.said("begins")[-1])
                self.assertGreaterEqual(begun, done - SLACK)
                done = max([done, *(before - places)])
                if len(places) == left:
                    break
                kills += 1
                if kills == KILLS:
                    places.clear()
            self.assertEqual(code, 0, "\n".join(job.text[-40:]))
            for task in job.tasks.values():
                self.assertEqual(task.wait(timeout=PATIENCE), 0)
            print(f"{mode}: coordinator killed {kills} times in "
                  f"{time.monotonic() - begin:.1f} s", flush=True)
            self.assertEqual(kills, KILLS)
            epochs = list(range(EPOCHS))
            self.assertEqual(logged_epochs(job.folder), (epochs, epochs))
            return job.results(), job.said("reference")

    def test_sync_is_bitwise_what_it_is_without_faults(self):
        results, [reference] = self.run_with_kills("sync")
        self.assertEqual(results["iterations"], str(STEPS))
        self.assertEqual(results["applied"], str(STEPS))
        self.assertEqual(results["parameters"], reference)

    def test_async_does_each_step_once(self):
        results, _ = self.run_with_kills("async")
        self.assertEqual(results["iterations"], str(STEPS))
        # Not what the coordinator has counted: what the servers have done.
        self.assertEqual(results["applied"], str(STEPS))
        # Its data is shuffled without a seed: each coordinator must have the
        # order of the one before for each example to be used once per epoch.
        self.assertEqual(results["squares"], str(
            EPOCHS * sum(number * number for number in range(EXAMPLES))))


if __name__ == "__main__":
    unittest.main()
