#!/usr/bin/env python3
"""Checkpoints in a directory that all tasks see: Fit saves into it, and goes on
from it when the whole job was killed, or a server with what it held.

    tests/cluster/checkpoint_processes_test.py BIN_DIR [TEST ...]

CAPSTAN_TEST_SEED=N repeats the kills of a run that has printed N.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
import unittest

from processes import (BIN, CAPSTAN, PATIENCE, environment, free_ports,
                       logged_epochs)

PROGRAM = BIN / "train_program"
# As in train_program.cc.
EPOCH = 301
STEPS = 3 * EPOCH
EVERY = 60
# Steps that are scheduled, and so done, before their results are looked at.
WINDOW = 64


class Job:
    """A job of real processes, with the directory for checkpoints that
    `roots` has for a kind of task. `with`: ends all of them."""

    def __init__(self, mode, places=(), workers=3, servers=2, roots=None,
                 wait=None, command=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="capstan-ckpt-"))
        self.saved = self.folder / "saved"  # which the tasks make
        self.roots = {job: str(self.folder / name)
                      for job, name in (roots or {}).items()}
        ports = free_ports(1 + workers + servers)
        address = [f"127.0.0.1:{port}" for port in ports]
        self.cluster = {"chief": address[:1],
                        "worker": address[1:1 + workers],
                        "ps": address[1 + workers:]}
        self.command = command or [
                        str(PROGRAM), mode, str(self.folder), f"every={EVERY}",
                        *[f"fit={place}" for place in places],
                        *([f"wait={wait}", f"silence={wait}"]
                          if wait is not None else [])]
        self.tasks = {}
        self.text = []
        self.variables = {}  # of what is started from now on
        self.start_others()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for task in list(self.tasks):
            self.kill(*task)
        shutil.rmtree(self.folder)

    def start_others(self):
        for job in ("ps", "worker"):
            for index in range(len(self.cluster[job])):
                self.start(job, index)

    def start(self, job, index, stdout=None):
        log = open(self.folder / f"{job}-{index}.log", "a")
        config = json.dumps({"cluster": self.cluster,
                             "task": {"type": job, "index": index}})
        root = self.roots.get(job, str(self.saved))
        self.tasks[job, index] = subprocess.Popen(
            self.command, cwd=self.folder, text=True,
            env=environment(TF_CONFIG=config, CAPSTAN_CHECKPOINT_DIR=root,
                            **self.variables),
            stdin=subprocess.DEVNULL, stdout=stdout or log,
            stderr=subprocess.STDOUT)
        log.close()

    def kill(self, job, index):
        process = self.tasks.pop((job, index))
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def kill_all(self):
        # At once, so that none sees another one go.
        for process in self.tasks.values():
            process.kill()
        for task in list(self.tasks):
            self.kill(*task)

    def run_chief(self, at=None, on_line=None, patience=PATIENCE):
        """Runs the chief; calls `on_line` with each line, and `at` with each
        place of Fit that it stops at, and ends if that is true. Returns its
        code, or None."""
        self.start("chief", 0, stdout=subprocess.PIPE)
        chief = self.tasks["chief", 0]
        timer = threading.Timer(patience, chief.kill)
        timer.start()
        try:
            for line in chief.stdout:
                self.text.append(line.rstrip("\n"))
                if on_line is not None:
                    on_line(line)
                words = line.split()
                if words[:1] != ["at"]:
                    continue
                if words[1] == "fit" and at is not None and at(int(words[2])):
                    return None
                (self.folder / f"{words[1]}-{words[2]}").touch()
            return chief.wait()
        finally:
            timer.cancel()

    def end(self, test):
        """All others end with the job, and with 0."""
        for task, process in list(self.tasks.items()):
            test.assertEqual(process.wait(timeout=PATIENCE), 0, task)

    def said(self, kind):
        return [line[len(kind) + 1:] for line in self.text
                if line.startswith(kind + " ")]

    def newest_saved(self):
        """The batches in the newest checkpoint that is complete; 0: none."""
        saved = [0]
        for manifest in self.saved.glob("ckpt-*/manifest.json"):
            if not manifest.parent.name.removeprefix("ckpt-").isdigit():
                continue  # being written
            records = json.loads(manifest.read_text())["records"]
            saved += [json.loads(text)["iterations"]
                      for name, text in records.items()
                      if name.startswith("trainer/")]
        return max(saved)

    def results(self):
        return dict(line.split(" ", 1) for line in self.said("result"))

    def log(self):
        return "\n".join(self.text[-40:])


def checkpoint(*arguments):
    return subprocess.run([str(CAPSTAN), "checkpoint", *map(str, arguments)],
                          env=environment(), capture_output=True, text=True,
                          timeout=PATIENCE)


class CheckpointProcessesTest(unittest.TestCase):

    def setUp(self):
        seed = int(os.environ.get("CAPSTAN_TEST_SEED") or
                   random.SystemRandom().randrange(1 << 32))
        print(f"CAPSTAN_TEST_SEED={seed}", flush=True)
        self.random = random.Random(seed)

    def check_logged_once(self, job):
        self.assertEqual(logged_epochs(job.folder), ([0, 1, 2], [0, 1, 2]))

    def check_same_as_without_faults(self, job):
        self.check_logged_once(job)
        self.assertEqual(job.results()["iterations"], str(STEPS), job.log())
        self.assertEqual(job.results()["applied"], str(STEPS), job.log())
        [reference] = job.said("reference")
        self.assertEqual(job.results()["parameters"], reference, job.log())

    def check_private(self, folder):
        for path in [folder, *folder.rglob("*")]:
            mode = stat.S_IMODE(path.stat().st_mode)
            self.assertEqual(mode, 0o700 if path.is_dir() else 0o600, path)

    def check_whole(self, folder):
        names = sorted(path.name for path in folder.iterdir())
        self.assertTrue(names)
        # Nothing that was half written or half removed is left.
        for name in names:
            self.assertRegex(name, r"^ckpt-[0-9]+$")
        listed = checkpoint("ls", folder)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        for name in names:
            self.assertIn(name, listed.stdout)
            verified = checkpoint("verify", folder / name)
            self.assertEqual(verified.returncode, 0, verified.stderr)
        return names

    def test_fit_saves_into_the_directory_that_servers_see(self):
        with Job("sync") as job:
            self.assertEqual(job.run_chief(), 0, job.log())
            job.end(self)
            self.check_same_as_without_faults(job)
            names = self.check_whole(job.saved)
            self.assertEqual(len(names), 5)  # FitCheckpoint::keep
            for name in names:
                self.assertEqual(
                    sorted(path.name for path in (job.saved / name).iterdir()),
                    ["manifest.json", "server-0.safetensors",
                     "server-1.safetensors"])
            self.check_private(job.saved)
            self.assertNotIn("the coordinator writes", "\n".join(job.text))

    def test_without_such_a_directory_the_coordinator_writes(self):
        with Job("sync", roots={"ps": "elsewhere"}) as job:
            self.assertEqual(job.run_chief(), 0, job.log())
            job.end(self)
            self.check_same_as_without_faults(job)
            self.assertEqual(len(self.check_whole(job.saved)), 5)
            self.check_private(job.saved)
            self.assertEqual(list((job.folder / "elsewhere").iterdir()), [])
            # Said, and only once.
            said = [line for line in job.text
                    if "the coordinator writes" in line]
            self.assertEqual(len(said), 1, job.log())

    def test_all_killed_at_once_go_on_from_the_newest_checkpoint(self):
        places = sorted(self.random.sample(range(EVERY, STEPS - 20), 3))
        with Job("sync", places) as job:
            newest = []
            for place in places:
                code = job.run_chief(lambda at, place=place: at == place)
                self.assertIsNone(code, job.log())
                job.kill_all()
                newest.append(job.newest_saved())
                job.start_others()
            self.assertEqual(job.run_chief(), 0, job.log())
            job.end(self)
            begun = [int(first) for first in job.said("first")]
            self.assertEqual(begun[0], 0)
            self.assertEqual(begun[1:], newest)
            for place, first in zip(places, newest):
                self.assertLessEqual(first, place + WINDOW, newest)
            # At least the last kill found one.
            self.assertGreater(newest[-1], 0)
            self.check_same_as_without_faults(job)
            self.check_whole(job.saved)

    def test_a_server_that_is_killed_takes_fit_back_to_the_checkpoint(self):
        places = sorted(self.random.sample(range(EVERY, STEPS - 20), 4))
        left = set(places)
        with Job("sync", places) as job:

            def kill(place):
                if place not in left:
                    return
                left.discard(place)
                index = self.random.randrange(2)
                job.kill("ps", index)
                job.start("ps", index)

            code = job.run_chief(kill, patience=3 * PATIENCE)
            self.assertEqual(code, 0, job.log())
            job.end(self)
            self.assertFalse(left)
            self.check_same_as_without_faults(job)
            back = [line for line in job.text if ": back to " in line]
            self.assertGreaterEqual(len(back), 1)
            for line in back:
                self.assertRegex(
                    line, r"ckpt-[0-9]+ \(epoch [0-9]+, batch [0-9]+ of 301\): "
                    r"[0-9]+ batches, about [0-9.]+ s of training, are done "
                    r"again; [0-9.]+ s until it went on$")
            self.assertIn("lost the variables that it held", job.log())

    def test_a_server_that_is_killed_while_it_restores(self):
        place = self.random.randrange(2 * EVERY, STEPS // 2)
        left = 6
        with Job("sync", [place]) as job:

            def kill():
                nonlocal left
                left -= 1
                index = self.random.randrange(2)
                job.kill("ps", index)
                job.start("ps", index)

            def kill_first(_):
                if left == 6:
                    kill()

            def kill_again(line):
                # Fit says so before it waits for the server and restores, and
                # after that: so in the middle of it, or soon after it.
                said = line.startswith("warning: ps/") or " back to " in line
                if said and 0 < left < 6:
                    time.sleep(self.random.uniform(0, 0.05))
                    kill()

            code = job.run_chief(kill_first, kill_again, patience=3 * PATIENCE)
            self.assertEqual(code, 0, job.log())
            self.assertEqual(left, 0)
            job.end(self)
            self.check_same_as_without_faults(job)

    def back(self, job):
        """The lines in which Fit says that it has gone back."""
        return [line for line in job.text if ": back to " in line]

    def test_the_others_take_over_from_a_server_that_stays_away(self):
        for mode in ("sync", "async"):
            places = sorted(self.random.sample(range(EVERY, STEPS - 20), 2))
            left = {place: index for place, index
                    in zip(places, self.random.sample(range(3), 2))}
            with self.subTest(mode), \
                    Job(mode, places, servers=3, wait=300) as job:

                def kill(place, left=left, job=job):
                    if place in left:
                        job.kill("ps", left.pop(place))

                code = job.run_chief(kill, patience=2 * PATIENCE)
                self.assertEqual(code, 0, job.log())
                job.end(self)
                self.assertFalse(left)
                back = self.back(job)
                self.assertEqual(len(back), 2, job.log())
                self.assertRegex(back[0], r"went on, without ps/[0-9]$")
                self.assertRegex(back[1], r"went on, without ps/., ps/.$")
                self.assertIn("1 of 3 servers hold the variables", job.log())
                self.assertEqual(job.results()["iterations"], str(STEPS))
                if mode == "sync":
                    self.check_same_as_without_faults(job)
                # The newest is of one server.
                newest = max(job.saved.iterdir(),
                             key=lambda path: int(path.name.split("-")[1]))
                self.assertEqual(len(list(newest.iterdir())), 2)

    def test_a_coordinator_that_comes_back_alone_from_the_loss_of_a_server(
            self):
        for mode in ("sync", "async"):
            place = self.random.randrange(2 * EVERY, STEPS - 20)
            index = self.random.randrange(2)
            with self.subTest(mode), Job(mode, [place]) as job:
                code = job.run_chief(lambda at, place=place: at == place)
                self.assertIsNone(code, job.log())
                # Before Fit has gone on without it, or has even noticed.
                job.kill("ps", index)
                job.kill("chief", 0)
                job.variables = {"CAPSTAN_START_TIMEOUT": "5"}
                code = job.run_chief(patience=2 * PATIENCE)
                self.assertEqual(code, 0, job.log())
                job.end(self)
                self.assertIn("starting without 1 of 5 tasks",
                              job.log())
                # From the checkpoint: the one that was complete.
                begun = [int(first) for first in job.said("first")]
                self.assertLessEqual(begun[1], place + WINDOW, begun)
                self.assertGreater(begun[1], place - 2 * EVERY - WINDOW, begun)
                self.assertEqual(job.results()["iterations"], str(STEPS))
                if mode == "sync":
                    self.check_same_as_without_faults(job)
                newest = max(job.saved.iterdir(),
                             key=lambda path: int(path.name.split("-")[1]))
                self.assertEqual(
                    sorted(path.name for path in newest.iterdir()),
                    ["manifest.json", f"server-{1 - index}.safetensors"])

    def check_taken_back(self, leave, come_back):
        """`leave` and `come_back` are called with the job and a server."""
        places = [EVERY + 10, 2 * EVERY + 10]
        index = self.random.randrange(2)
        left = dict(zip(places, (leave, come_back)))
        with Job("sync", places, wait=300) as job:

            def act(place):
                if place in left:
                    left.pop(place)(job, index)

            code = job.run_chief(act, patience=2 * PATIENCE)
            self.assertEqual(code, 0, job.log())
            job.end(self)
            self.assertFalse(left)
            self.assertIn(f"linear: ps/{index} answers again and gets its part "
                          "back", job.text)
            back = self.back(job)
            self.assertEqual(len(back), 2, job.log())
            self.assertTrue(back[0].endswith(f", without ps/{index}"), back)
            # At the end of an epoch, with nothing that is done again.
            self.assertRegex(back[1], r"batch 1 of 301\): 0 batches, .* went "
                             r"on$")
            self.check_same_as_without_faults(job)
            newest = max(job.saved.iterdir(),
                         key=lambda path: int(path.name.split("-")[1]))
            self.assertEqual(len(list(newest.iterdir())), 3)

    def test_a_server_that_returns_gets_its_part_again(self):
        self.check_taken_back(lambda job, index: job.kill("ps", index),
                              lambda job, index: job.start("ps", index))

    def test_a_server_that_hung_has_nothing_that_anybody_reads(self):
        def send(number):
            return lambda job, index: (
                job.tasks["ps", index].send_signal(number))

        self.check_taken_back(send(signal.SIGSTOP), send(signal.SIGCONT))

    def test_a_coordinator_killed_while_the_job_is_without_a_server(self):
        places = [EVERY + 10, 3 * EVERY + 10, EPOCH + 3 * EVERY]
        index = self.random.randrange(2)
        with Job("sync", places, wait=300) as job:

            def kill_server(place):
                if place == places[0] and len(job.said("at fit")) == 1:
                    job.kill("ps", index)
                return place == places[1]

            self.assertIsNone(job.run_chief(kill_server), job.log())
            job.kill("chief", 0)
            # The server stays away, and then is there, with nothing.
            self.assertIsNone(job.run_chief(lambda place: place == places[2]),
                              job.log())
            job.kill("chief", 0)
            job.start("ps", index)
            self.assertEqual(job.run_chief(), 0, job.log())
            job.end(self)
            self.check_same_as_without_faults(job)
            # They have taken over what the servers have: else they would know
            # of nothing before Fit restores a checkpoint.
            begun = [int(begun) for begun in job.said("begins")]
            self.assertEqual(begun[0], 0)
            self.assertGreater(begun[1], EVERY, begun)
            self.assertGreater(begun[2], EPOCH, begun)
            self.assertTrue(self.back(job)[0].endswith(f"without ps/{index}"))
            self.assertIn(f"linear: ps/{index} answers again and gets its part "
                          "back", job.text)

    def test_async_training_counts_each_step_once(self):
        places = sorted(self.random.sample(range(EVERY, STEPS - 20), 3))
        with Job("async", places) as job:

            def kill_server(place):
                if place == places[0] and len(job.said("at fit")) == 1:
                    job.kill("ps", 0)
                    job.start("ps", 0)
                return place == places[1]

            code = job.run_chief(kill_server, patience=2 * PATIENCE)
            self.assertIsNone(code, job.log())
            job.kill_all()
            job.start_others()
            self.assertEqual(job.run_chief(), 0, job.log())
            job.end(self)
            self.assertEqual(job.results()["iterations"], str(STEPS))
            self.check_logged_once(job)
            self.check_whole(job.saved)


if __name__ == "__main__":
    unittest.main()
