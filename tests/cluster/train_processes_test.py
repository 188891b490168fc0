#!/usr/bin/env python3
"""Fit, Evaluate and Predict with real processes whose workers are killed at
random points: what comes of it is what comes of it without, to the last bit.

    tests/cluster/train_processes_test.py BIN_DIR [TEST ...]

CAPSTAN_TEST_SEED=N repeats the kills of a run that has printed N.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment

PROGRAM = BIN / "train_program"
TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
# As in train_program.cc.
LAST = {"fit": 3 * 301 - 1, "evaluate": 149, "predict": 149}
ITERATIONS = "903"
# Each phase's in a job of its own: a worker that is killed often is restarted
# later and later.
KILLS = {"fit": 8, "evaluate": 6, "predict": 6}
LOOK = 0.005  # seconds between two looks at something
STEP = 0.003  # seconds, about: a kill comes so long after its place


def load_kill_tasks():
    """tools/kill_tasks as a module."""
    path = str(TOOLS / "kill_tasks")
    loader = importlib.machinery.SourceFileLoader("kill_tasks", path)
    spec = importlib.util.spec_from_loader("kill_tasks", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


KILL_TASKS = load_kill_tasks()


class Job:
    """A `capstan run` of train_program, to its end. A worker is killed when the
    phase has come to each of `places`."""

    def __init__(self, test, mode, workers=3, servers=2, phase="", places=(),
                 choose=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="capstan-train-"))
        test.addCleanup(shutil.rmtree, self.folder)
        self.kills = [(phase, place) for place in places]
        self.choose = choose
        self.killed = 0
        self.text = []
        self.process = subprocess.Popen(
            [CAPSTAN, "run", "-w", str(workers), "-s", str(servers),
             "--max-restarts", "1000", "--", PROGRAM, mode, self.folder,
             *[f"{phase}={place}" for place in places]],
            cwd=self.folder, env=environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        # A job that hangs is ended, which ends its output.
        patience = threading.Timer(PATIENCE, self.process.terminate)
        patience.start()
        try:
            for line in self.process.stdout:
                self.text.append(line.rstrip("\n"))
                self.look_at(line.split())
        finally:
            patience.cancel()
            self.process.terminate()
            self.process.wait()
            self.process.stdout.close()
        test.assertEqual(self.process.returncode, 0, "\n".join(self.text))

    def look_at(self, words):
        if words[:2] != ["chief/0:", "at"]:
            return
        phase, place = words[2], int(words[3])
        # The phase goes on, but does not end: it stops at its last step, and
        # that is looked at after the kill.
        (self.folder / f"{phase}-{place}").touch()
        if (phase, place) in self.kills:
            # Wherever the step is by then.
            time.sleep(self.choose.uniform(0, STEP))
            self.kill_one()

    def kill_one(self):
        deadline = time.monotonic() + PATIENCE
        # All may be about to be restarted.
        while not KILL_TASKS.kill_one(self.process.pid, self.choose.choice):
            if time.monotonic() > deadline:
                return
            time.sleep(LOOK)
        self.killed += 1

    def said(self, kind):
        """The lines of one kind, without it, in order."""
        start = f"chief/0: {kind} "
        return [line[len(start):] for line in self.text
                if line.startswith(start)]


class KilledWorkers(unittest.TestCase):

    def setUp(self):
        seed = int(os.environ.get("CAPSTAN_TEST_SEED") or
                   random.SystemRandom().randrange(1 << 32))
        print(f"CAPSTAN_TEST_SEED={seed}", flush=True)
        self.random = random.Random(seed)

    def run_with_kills(self, mode, phase):
        # Not in its last quarter, in which there may be nothing left to do.
        places = sorted(self.random.sample(range(LAST[phase] * 3 // 4),
                                           KILLS[phase]))
        job = Job(self, mode, phase=phase, places=places, choose=self.random)
        self.assertEqual(job.killed, KILLS[phase], job.text)
        retries = dict(line.split() for line in job.said("retries"))
        print(f"{mode} {phase}: workers killed: {job.killed}, functions that "
              f"ran again: {retries[phase]}", flush=True)
        return job, int(retries[phase])

    def test_sync_results_are_those_without_faults(self):
        calm = Job(self, "sync")
        self.assertEqual(set(calm.said("retries")),
                         {"fit 0", "evaluate 0", "predict 0"})
        self.assertIn(f"iterations {ITERATIONS}", calm.said("result"))
        names = {line.split()[0] for line in calm.said("result")}
        self.assertLessEqual({"loss", "auc", "parameters", "test_loss",
                              "test_auc", "predictions"}, names)
        retries = 0
        for phase in KILLS:
            with self.subTest(phase):
                job, again = self.run_with_kills("sync", phase)
                self.assertEqual(job.said("result"), calm.said("result"))
                retries += again
        # It was worth the name.
        self.assertGreater(retries, 0)

    def test_sync_fit_is_bitwise_one_worker_that_adds_up_in_order(self):
        """k workers, faults or not; one worker that does all steps of a round;
        and one process that adds up the gradients of k batches in order."""
        alone = Job(self, "sync", workers=1, servers=1)
        [reference] = alone.said("reference")
        self.assertIn(f"parameters {reference}", alone.said("result"))
        job, _ = self.run_with_kills("sync", "fit")
        self.assertIn(f"parameters {reference}", job.said("result"))
        self.assertEqual(job.said("result"), alone.said("result"))

    def test_async_trains_on_every_batch_once(self):
        job, _ = self.run_with_kills("async", "fit")
        self.assertIn(f"iterations {ITERATIONS}", job.said("result"))


if __name__ == "__main__":
    unittest.main()
