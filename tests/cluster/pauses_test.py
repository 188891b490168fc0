#!/usr/bin/env python3
"""A pause is not a failure: each role is stopped (SIGSTOP) for 0.5, 1.5 and 3 s
and continued, in the middle of steps, in a custom loop and in Fit at the same
time. Nothing is lost, nothing is done twice, and nobody has to do anything.

    tests/cluster/pauses_test.py BIN_DIR [TEST ...]
"""

import concurrent.futures
import signal
import time
import unittest

from checkpoint_processes_test import STEPS, Job as FitJob
from coordinator_job import PATIENCE, Job, Relay
from processes import free_ports

PAUSES = [(role, seconds) for role in ("chief", "ps", "worker")
          for seconds in (0.5, 1.5, 3)]


class Pauses(Job):

    def test_each_role(self):
        # Both mostly sleep.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            fit = pool.submit(self.pause_fit)
            self.pause_loop()
            fit.result()

    def pause_loop(self):
        self.start_all()
        steps = 0
        for number, (role, seconds) in enumerate(PAUSES):
            # Those at the gate have made one of their two updates.
            gate = f"gate{number}"
            steps += 20
            self.expect(f"schedule halves 20 {gate}", "scheduled 20")
            self.wait_for(lambda: len(self.at(gate)) >= 2,
                          lambda: f"waited for 2 at {gate}")
            task = f"{role}/{0 if role == 'chief' else number % 2}"
            self.tell("join")
            self.stop(task)
            self.open(gate)
            time.sleep(seconds)
            if (role, seconds) == ("ps", 3):
                self.check_shown(task)
            self.tasks[task].send_signal(signal.SIGCONT)
            self.expect_answer("joined")
            self.expect("read", f"first={steps} second={steps}")
        self.expect("values", f"ok={steps}")
        self.assertNotIn("is lost, and with it", self.log())
        self.end()

    def check_shown(self, task):
        self.await_log(rf"{task} \(127\.0\.0\.1:\d+\) has not answered for "
                       r"\d+ s; waiting another \d+ s for it")
        _, lines = self.capstan_status()
        self.assertRegex("\n".join(lines), rf"(?m)^{task} .* silent for ")

    def pause_fit(self):
        places = [40 + 90 * i for i in range(len(PAUSES))]
        left = dict(zip(places, PAUSES))
        with FitJob("sync", places) as job:

            def pause(place):
                if place not in left:
                    return
                role, seconds = left.pop(place)
                # It trains on, as far as it can.
                (job.folder / f"fit-{place}").touch()
                job.tasks[role, 0].send_signal(signal.SIGSTOP)
                time.sleep(seconds)
                job.tasks[role, 0].send_signal(signal.SIGCONT)

            code = job.run_chief(pause, patience=2 * PATIENCE)
            self.assertEqual(code, 0, job.log())
            job.end(self)
            self.assertFalse(left)
            results = job.results()
            self.assertEqual(results["iterations"], str(STEPS))
            self.assertEqual(results["applied"], str(STEPS))
            # To the bit what one process computes.
            self.assertEqual([results["parameters"]], job.said("reference"))
            # It has neither gone back to a checkpoint nor missed one.
            for line in ("back to", "is lost, and with it", "no checkpoint"):
                self.assertNotIn(line, "\n".join(job.text))


class EvaluatorAway(Job):

    def setUp(self):
        super().setUp()
        self.ports["evaluator/0"], inside = free_ports(2)
        self.relay = Relay(self.ports["evaluator/0"], inside)
        self.addCleanup(self.relay.close)
        self.start("evaluator/0", CAPSTAN_LISTEN=f"127.0.0.1:{inside}")
        for name in ("worker/0", "worker/1", "ps/0", "ps/1", "chief/0"):
            self.start(name)
        self.expect_answer("ready")
        self.await_status(ready=2)
        # The chief does not wait for it.
        self.await_task("evaluator/0", "healthy")

    def test_training_does_not_wait(self):
        evaluator = self.tasks["evaluator/0"]

        self.stop("evaluator/0")
        self.train_without(steps=20)
        evaluator.send_signal(signal.SIGCONT)
        self.await_task("evaluator/0", "healthy")

        self.relay.cut()
        self.train_without(steps=40)
        self.relay.mend()
        self.await_task("evaluator/0", "healthy")
        self.end()

    def train_without(self, steps):
        self.await_task("evaluator/0", "silent")
        self.expect("schedule halves 20", "scheduled 20")
        self.expect("join", "joined")
        self.expect("read", f"first={steps} second={steps}")


if __name__ == "__main__":
    unittest.main()
