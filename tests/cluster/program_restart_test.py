#!/usr/bin/env python3
"""A program of several Fits of two models, whose tasks are killed at any
moment: what it ends with is what it ends with without faults, to the bit. And a
custom loop whose steps have keys: each of them is applied once, as a whole.

    tests/cluster/program_restart_test.py BIN_DIR [TEST ...]

CAPSTAN_TEST_SEED=N repeats the kills of a run that has printed N, as far as the
machine is as fast. CAPSTAN_KILLS is how many there are in a test (8; half of
them for the loop).
"""

import os
import random
import subprocess
import threading
import unittest

from checkpoint_processes_test import Job
from processes import BIN, PATIENCE

COMMAND = [str(BIN / "two_models_program"), "30"]
KILLS = int(os.environ.get("CAPSTAN_KILLS") or 8)
# Seconds; a chief takes some tenths of one to take over, and all of it some.
LIFE = 1.5


class ProgramRestartTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with Job("", command=COMMAND) as job:
            assert job.run_chief() == 0, job.log()
            cls.reference = job.results()

    def setUp(self):
        seed = int(os.environ.get("CAPSTAN_TEST_SEED") or
                   random.SystemRandom().randrange(1 << 32))
        print(f"CAPSTAN_TEST_SEED={seed}", flush=True)
        self.random = random.Random(seed)

    def check(self, job, code):
        self.assertEqual(code, 0, job.log())
        self.assertEqual(job.results(), self.reference, job.log())
        job.end(self)

    def is_over(self, job):
        """Whether the others were told of the end of the job, though the chief
        was killed before it had ended itself. None of them waits for another
        chief then."""
        if set(job.results()) != set(self.reference):
            return False
        try:
            for process in job.tasks.values():
                process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return False
        return True

    def after_a_moment(self, action):
        timer = threading.Timer(self.random.uniform(0, LIFE), action)
        timer.start()
        return timer

    def test_the_coordinator_is_killed(self):
        with Job("", command=COMMAND) as job:
            # A job that is over sooner was not killed as often.
            for _ in range(KILLS):
                timer = self.after_a_moment(
                    lambda: job.tasks["chief", 0].kill())
                code = job.run_chief()
                timer.cancel()
                if code == 0:
                    break
                job.kill("chief", 0)
                if self.is_over(job):
                    code = 0
                    break
            else:
                code = job.run_chief()
            self.check(job, code)

    def test_all_are_killed(self):
        with Job("", command=COMMAND) as job:
            for _ in range(KILLS):
                timer = self.after_a_moment(
                    lambda: [task.kill() for task in
                             list(job.tasks.values())])
                code = job.run_chief()
                timer.cancel()
                if code == 0:
                    break
                job.kill_all()
                job.start_others()
            else:
                code = job.run_chief()
            self.check(job, code)

    def test_servers_are_killed(self):
        with Job("", command=COMMAND) as job:
            left = KILLS

            def on_line(line):
                # In the middle of a Fit: outside of one nobody goes back.
                nonlocal left
                if "Epoch 1/" in line and left > 0:
                    left -= 1
                    index = self.random.randrange(2)
                    job.kill("ps", index)
                    job.start("ps", index)

            code = job.run_chief(on_line=on_line, patience=3 * PATIENCE)
            self.assertLess(left, KILLS)
            self.check(job, code)


class KeyedLoopTest(unittest.TestCase):
    """examples/cpp/custom_loop.cc, each step of which makes three updates."""

    # As in custom_loop.cc.
    STEPS = 200
    EXAMPLES = 10_000

    def setUp(self):
        seed = int(os.environ.get("CAPSTAN_TEST_SEED") or
                   random.SystemRandom().randrange(1 << 32))
        print(f"CAPSTAN_TEST_SEED={seed}", flush=True)
        self.random = random.Random(seed)

    def test_each_step_is_applied_once_and_as_a_whole(self):
        # A life is killed soon after its first epoch, so this is enough.
        most = (KILLS + 1) // 2
        epochs = 12 * most
        kills = 0
        with Job("", command=[str(BIN / "custom_loop"), str(epochs)]) as job:
            timers = []

            def kill_soon(line):
                if not line.startswith("epoch") or timers or kills == most:
                    return
                timers.append(threading.Timer(self.random.uniform(0, 0.05),
                                              job.tasks["chief", 0].kill))
                timers[0].start()

            while True:
                code = job.run_chief(on_line=kill_soon)
                for timer in timers:
                    timer.cancel()
                if code == 0:
                    break
                self.assertTrue(timers, job.log())
                timers.clear()
                kills += 1
                job.kill("chief", 0)
            print(f"chief killed {kills} times", flush=True)
            self.assertEqual(kills, most)
            self.assertIn(f"after {epochs * self.STEPS} steps on "
                          f"{epochs * self.EXAMPLES} examples", job.log())
            job.end(self)


if __name__ == "__main__":
    unittest.main()
