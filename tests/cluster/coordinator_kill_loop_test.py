#!/usr/bin/env python3
"""A training loop one of whose workers is killed every second.

    tests/cluster/coordinator_kill_loop_test.py BIN_DIR
"""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment

KILL_TASKS = (pathlib.Path(__file__).resolve().parents[2] / "tools" /
                "kill_tasks")
EPOCHS = 300
STEPS_PER_EPOCH = 200
EXAMPLES = 10_000  # in each epoch
KILLS = 3  # at least, or the test says nothing


class KillLoop(unittest.TestCase):

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-kill-loop-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def popen(self, *command):
        process = subprocess.Popen(
            command, cwd=self.dir, env=environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_every_step_is_applied_once(self):
        job = self.popen(CAPSTAN, "run", "-w", "4", "-s", "2",
                         "--max-restarts", "1000", "--", BIN / "custom_loop",
                         str(EPOCHS))
        killer = self.popen(KILL_TASKS, str(job.pid), "--seed", "1")
        text, _ = job.communicate(timeout=5 * PATIENCE)
        self.assertEqual(job.returncode, 0, text)
        kills, _ = killer.communicate(timeout=PATIENCE)
        print(kills.splitlines()[-1], flush=True)
        last = [line for line in text.splitlines() if "steps" in line][-1]
        self.assertEqual(
            last, "chief/0: 1.000 2.000 3.000 4.000 5.000 6.000 7.000 8.000 "
            f"after {EPOCHS * STEPS_PER_EPOCH} steps on "
            f"{EPOCHS * EXAMPLES} examples", text)
        # It was worth the name.
        killed = int(re.search(r"(\d+) tasks killed", kills).group(1))
        self.assertGreaterEqual(killed, KILLS, kills)


if __name__ == "__main__":
    unittest.main()
