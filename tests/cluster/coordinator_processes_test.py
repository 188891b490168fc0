#!/usr/bin/env python3
"""Training with real processes that are killed, stopped, cut off and told to
leave. Whatever happens, every step is applied once: counters are compared with
==. docs/failures.md says which test stands for which promise.

    tests/cluster/coordinator_processes_test.py BIN_DIR [TEST ...]
"""

import random
import signal
import subprocess
import time
import unittest

from coordinator_job import Job, Relay
from processes import BIN, CAPSTAN, PATIENCE, environment, free_ports


class KilledWorkers(Job):

    def test_killed_between_functions_and_restarted(self):
        self.start_all()
        self.expect("schedule increment 2", "scheduled 2")
        self.expect("join", "joined")
        self.kill("worker/0")
        self.start("worker/0")
        self.expect("schedule increment 2", "scheduled 2")
        self.expect("join", "joined")
        self.expect("read", "first=4 second=0")
        self.await_status(ready=2)
        self.end()

    def test_killed_in_the_middle_of_a_step(self):
        self.start_all()
        self.expect("schedule halves 6 gate", "scheduled 6")
        step, task, _ = self.await_at("gate", 2)[0]
        self.kill(task)
        self.tell("join")
        # Another has begun with the same step, whose first half is there.
        self.start(task)
        self.await_log(f"{task} is lost, and what it had \\(functions: 3\\)")
        self.open("gate")
        self.expect_answer("joined")
        self.expect("read", "first=6 second=6")
        self.expect("values", "ok=6")
        self.assertEqual([one[0] for one in self.at("gate")].count(step),
                         2)
        self.end()

    def test_two_killed_together_and_restarted(self):
        self.start_all()
        self.expect("schedule halves 10 gate", "scheduled 10")
        self.await_at("gate", 2)
        self.tell("join")
        self.kill("worker/0", "worker/1")
        self.start("worker/0")
        self.start("worker/1")
        self.open("gate")
        self.expect_answer("joined")
        self.expect("read", "first=10 second=10")
        self.end()

    def test_the_same_killed_twice(self):
        self.start_all()
        self.expect("schedule halves 10 gate", "scheduled 10")
        self.await_at("gate", 2)
        self.tell("join")
        self.kill("worker/1")
        again = self.start("worker/1")
        # It has work again, and is killed with it.
        self.wait_for(lambda: again.pid in [one[2] for one
                                            in self.at("gate")],
                      lambda: "worker/1 is not used again")
        self.kill("worker/1")
        self.start("worker/1")
        self.open("gate")
        self.expect_answer("joined")
        self.expect("read", "first=10 second=10")
        self.expect("values", "ok=10")
        self.end()

    def test_killed_for_good_others_finish(self):
        self.start_all()
        self.expect("schedule halves 10 gate", "scheduled 10")
        self.await_at("gate", 2)
        self.kill("worker/0")
        self.open("gate")
        self.expect("join", "joined")
        self.expect("read", "first=10 second=10")
        status = self.status()
        self.assertEqual((status["finished"], status["failed"],
                          status["ready"]), (10, 0, 1))
        self.end()

    def test_killed_while_it_has_nothing_to_do(self):
        # Nobody waits for an answer of its when it dies.
        self.start_all()
        self.kill("worker/0")
        self.expect("schedule increment 10", "scheduled 10")
        self.expect("join", "joined")
        self.expect("read", "first=10 second=0")
        self.end()

    def test_variables_are_read_while_a_worker_dies(self):
        self.start_all()
        self.expect("watch", "watching")
        for gate in ("one", "two"):
            self.expect(f"schedule halves 4 {gate}", "scheduled 4")
            self.await_at(gate, 2)
            self.kill("worker/1")
            self.start("worker/1")
            self.await_status(ready=2)
            self.open(gate)
            self.expect("join", "joined")
        self.expect("unwatch", "reads failed=0")
        self.expect("read", "first=8 second=8")
        self.end()


class Storm(Job):
    workers = 4

    def test_workers_are_killed_and_stopped_all_the_time(self):
        steps = 10_000
        self.start_all()
        self.open("gate")
        self.expect(f"spread halves {steps} gate 4", "spread")
        seed = random.randrange(1 << 32)
        print(f"seed {seed}", flush=True)
        choose = random.Random(seed)
        faults = 0
        while self.status()["finished"] < steps:
            time.sleep(choose.uniform(0.02, 0.12))
            worker = f"worker/{choose.randrange(self.workers)}"
            if choose.randrange(8) == 0:
                # Not for long enough to be given up, or just so.
                self.stop(worker)
                time.sleep(choose.choice((0.1, 1.6)))
                self.tasks[worker].send_signal(signal.SIGCONT)
            else:
                self.kill(worker)
                self.start(worker)
            faults += 1
        self.expect("spread_end", f"scheduled {steps}")
        self.expect("join", "joined")
        print(f"{faults} faults, {self.status()['retries']} retries",
              flush=True)
        self.expect("read", f"first={steps} second={steps}")
        self.expect("values", f"ok={steps}")
        self.end()


class FailingFunctions(Job):

    def test_worker_killed_before_another_function_fails(self):
        self.start_all()
        self.expect("schedule wait 1 never", "scheduled 1")
        _, task, _ = self.await_at("never", 1)[0]
        self.expect("schedule fail 1 fail", "scheduled 1")
        self.await_at("fail", 1)
        self.kill(task)
        self.await_log(f"{task} is lost, and what it had \\(functions: 1\\)")
        self.open("fail")
        self.tell("join")
        self.expect_error("Unknown", f"worker/{1 - int(task[-1])}",
                          "told to fail")
        self.expect("values", "Cancelled=1 Unknown=1")
        self.expect("errors", "Unknown")
        self.check_new_work()

    def test_worker_killed_after_another_function_has_failed(self):
        # The error waits for a function that does not look at Cancelled, until
        # that is lost with its worker.
        self.start_all()
        self.expect("schedule stubborn 1 never", "scheduled 1")
        _, task, _ = self.await_at("never", 1)[0]
        self.expect("schedule fail 1 fail", "scheduled 1")
        self.open("fail")
        self.await_status(failed=1, in_flight=1)
        self.tell("join")
        self.kill(task)
        self.expect_error("Unknown", f"worker/{1 - int(task[-1])}",
                          "told to fail")
        self.expect("values", "Cancelled=1 Unknown=1")
        self.check_new_work()

    def check_new_work(self):
        self.expect("schedule increment 4", "scheduled 4")
        self.expect("join", "joined")
        self.expect("read", "first=4 second=0")
        self.end()


class LostServers(Job):

    def lose(self, line):
        """Kills ps/1 while the chief does what `line` says, which fails."""
        self.start_all()
        self.expect("schedule halves 2 gate", "scheduled 2")
        self.await_at("gate", 2)
        self.tell(line)
        self.kill("ps/1")
        killed = time.monotonic()
        message = self.expect_error("Unavailable", "ps/1", "ps/1 at ")
        print(f"'{line}' threw {time.monotonic() - killed:.2f} s after ps/1 "
              f"was killed: {message}", flush=True)
        # What ran was told.
        self.await_at("cancelled", 2)

    def test_join_throws(self):
        self.lose("join")
        self.expect("values", "Cancelled=2")
        # And everything else does.
        for line in ("schedule increment 1", "done", "join"):
            self.tell(line)
            self.expect_error("Unavailable", "ps/1", "is lost")
        self.end()

    def test_schedule_throws(self):
        self.lose("until_error schedule")
        self.end()

    def test_done_throws(self):
        self.lose("until_error done")
        self.end()

    def test_restarted_server_has_lost_the_variables(self):
        self.start_all()
        self.expect("schedule increment 2", "scheduled 2")
        self.expect("join", "joined")
        self.kill("ps/1")
        self.start("ps/1")
        self.await_task("ps/1", "restarted")
        self.tell("until_error join")
        self.expect_error("Unavailable", "ps/1",
                          "was restarted and has lost the variables")
        self.end()


class SilentServers(Job):
    options = ("server_timeout=4000", "watchdog=1000")

    def test_lost_after_its_time_until_it_goes_on(self):
        self.start_all()
        self.expect("schedule halves 2 gate", "scheduled 2")
        self.await_at("gate", 2)
        self.tell("join")
        self.stop("ps/1")
        # The watchdog says so, too.
        waiting = (r"ps/1 \(127\.0\.0\.1:\d+\) has not answered for \d s; "
                   r"waiting another \d s for it")
        self.await_log("chief/0: " + waiting)
        self.await_log("chief/0:   " + waiting)
        self.expect_error("Unavailable", "ps/1", "s without an answer")
        self.expect("values", "Cancelled=2")
        self.tasks["ps/1"].send_signal(signal.SIGCONT)
        self.wait_for(lambda: self.ask("join") == "joined",
                      lambda: "ps/1 is still missed")
        # Everything that it held is there.
        self.open("gate")
        self.expect("schedule halves 2 gate", "scheduled 2")
        self.expect("join", "joined")
        self.expect("read", "first=4 second=2")
        self.end()


    def test_cut_off_and_back(self):
        inside = free_ports(1)[0]
        relay = Relay(self.ports["ps/1"], inside)
        self.addCleanup(relay.close)
        self.start("ps/1", CAPSTAN_LISTEN=f"127.0.0.1:{inside}")
        for name in ("worker/0", "worker/1", "ps/0", "chief/0"):
            self.start(name)
        self.expect_answer("ready")
        self.await_status(ready=2)
        self.expect("schedule halves 2 gate", "scheduled 2")
        self.await_at("gate", 2)
        relay.cut()
        self.open("gate")
        self.tell("join")
        self.await_log(r"ps/1 \(.*\) has not answered for \d s")
        relay.mend()
        self.expect_answer("joined")
        self.expect("read", "first=2 second=2")
        self.end()


class TaskStates(Job):

    def expect_states(self, **others):
        """All tasks are healthy but `others`, says the chief, and so does
        `capstan status`."""
        wanted = {name: "healthy" for name in self.ports}
        wanted.update({name.replace("_", "/"): state
                       for name, state in others.items()})

        def states():
            return dict(pair.split("=") for pair in self.ask("tasks").split())
        self.wait_for(lambda: states() == wanted,
                      lambda: f"waited for {wanted}, saw {states()}")
        code, lines = self.capstan_status()
        shown = {words[0]: words[2].rstrip(",") for words
                 in (line.split() for line in lines)
                 if len(words) > 2 and words[0] in wanted and ":" in words[1]}
        self.assertEqual(shown, wanted, lines)
        self.assertEqual(code, 1 if "unreachable" in wanted.values() else 0)
        return "\n".join(lines)

    def test_killed_tasks_are_named_and_come_back(self):
        self.start_all()
        self.expect_states()
        self.kill("worker/1")
        said = self.expect_states(worker_1="unreachable")
        self.assertRegex(said, r"\nworker/1 at 127\.0\.0\.1:\d+: ")
        self.start("worker/1")
        self.expect_states(worker_1="restarted")
        self.kill("ps/1")
        self.expect_states(worker_1="restarted", ps_1="unreachable")
        self.kill("ps/0")
        self.expect_states(worker_1="restarted", ps_0="unreachable",
                           ps_1="unreachable")
        self.start("ps/0")
        self.start("ps/1")
        self.expect_states(worker_1="restarted", ps_0="restarted",
                           ps_1="restarted")
        self.end()


class Watchdog(Job):
    options = ("watchdog=1000",)

    def test_says_what_each_task_waits_for(self):
        slow = [self.dir / "notes" / f"slow-worker-{i}" for i in range(2)]
        for file in slow:
            file.touch()
        self.start_all()
        self.expect("schedule wait 1 gate", "scheduled 1")
        step, task, _ = self.await_at("gate", 1)[0]
        self.expect("schedule increment 4", "scheduled 4")
        other = f"worker/{1 - int(task[-1])}"
        self.tell("join")
        title = r"no function has finished for 1 s; 5 run, 0 are queued\."
        self.await_log(title, count=2)
        lines = [
            rf"  {task}: step {step} \('wait'\), there since \d+ ms, computes",
            rf"  {task}: step \d+ \('increment'\), there since \d+ ms, waits "
            "for the functions before it",
            rf"  {other}: step \d+ \('increment'\), there since \d+ ms, waits "
            r"for a sleep since \d+ ms"]
        for line in lines:
            self.await_log(line, count=2)
        for file in slow:
            file.unlink()
        self.open("gate")
        self.expect_answer("joined")
        self.expect("read", "first=4 second=0")
        said = self.log().count("no function has finished")
        # Time in which it would speak again, twice.
        time.sleep(2.2)
        self.assertEqual(self.log().count("no function has finished"), said)
        self.end()


class FullQueue(Job):
    workers = 3
    options = ("queue_capacity=4",)

    def test_all_workers_are_killed_and_restarted(self):
        self.start_all()
        self.expect("spread halves 60 gate 4", "spread")
        self.await_at("gate", 3)
        # Each has one that runs and two more.
        self.await_status(queued=4, in_flight=9)
        workers = [f"worker/{i}" for i in range(3)]
        self.kill(*workers)
        # What comes back finds a place, full or not.
        self.await_status(queued=13, in_flight=0, ready=0)
        for worker in workers:
            self.start(worker)
        self.open("gate")
        self.expect("spread_end", "scheduled 60")
        self.expect("join", "joined")
        self.expect("read", "first=60 second=60")
        self.expect("values", "ok=60")
        self.end()


class Poison(Job):
    workers = 4

    def test_closure_that_kills_its_workers(self):
        slow = [self.dir / "notes" / f"slow-worker-{i}" for i in range(4)]
        for file in slow:
            file.touch()
        self.start_all()
        self.expect("schedule poison 1 poison", "scheduled 1")
        self.expect("schedule increment 40", "scheduled 40")
        self.await_status(in_flight=12, queued=29)
        for file in slow:
            file.unlink()
        # All but the two that the worker of the poison has at hand.
        self.await_status(finished=38, in_flight=3)
        lost = [self.take_poison(1)]
        # Those run elsewhere, and the poison runs alone.
        self.await_status(finished=40, in_flight=1, retries=3)
        lost.append(self.take_poison(2))
        self.tell("join")
        lost.append(self.take_poison(3))
        message = self.expect_error("Aborted", "-", "poisoned closure: step 1 "
                                    "('poison') was lost with 3 workers")
        self.assertTrue(message.endswith(f"[PoisonedClosure {' '.join(lost)}]"),
                        (message, lost))
        self.expect("read", "first=40 second=0")
        self.expect("values", "Aborted=1 ok=40")
        self.await_status(finished=40, failed=1, retries=4, ready=4)
        self.expect("schedule increment 10", "scheduled 10")
        self.expect("join", "joined")
        self.expect("read", "first=50 second=0")
        self.end()

    def take_poison(self, number):
        """Lets it kill its worker, which is restarted and returned."""
        _, task, pid = self.await_at(f"poison{number}", 1)[0]
        self.assertEqual(self.tasks[task].pid, pid)
        self.open(f"poison{number}")
        self.assertEqual(self.tasks[task].wait(PATIENCE), -signal.SIGKILL)
        self.start(task)
        return task


class SilentWorkers(Job):

    def test_stopped_in_the_middle_of_a_step(self):
        self.start_all()
        self.expect("schedule halves 1 gate", "scheduled 1")
        step, task, _ = self.await_at("gate", 1)[0]
        other = f"worker/{1 - int(task[-1])}"
        self.stop(task)
        stopped = time.monotonic()
        self.tell("join")
        again = self.await_at("gate", 2)[1]
        print(f"a step of a stopped worker ran elsewhere after "
              f"{time.monotonic() - stopped:.2f} s", flush=True)
        self.assertEqual(again[:2], (step, other))
        self.open("gate")
        self.expect_answer("joined")
        self.expect("read", "first=1 second=1")
        # It wakes in front of an open gate.
        self.tasks[task].send_signal(signal.SIGCONT)
        self.await_task(task, "healthy")
        self.check_both_are_used()
        self.expect("read", "first=3 second=3")
        self.end()

    def test_cut_off_in_the_middle_of_a_step(self):
        inside = free_ports(1)[0]
        relay = Relay(self.ports["worker/0"], inside)
        self.addCleanup(relay.close)
        self.start("worker/0", CAPSTAN_LISTEN=f"127.0.0.1:{inside}")
        for name in ("worker/1", "ps/0", "ps/1", "chief/0"):
            self.start(name)
        self.expect_answer("ready")
        self.await_status(ready=2)
        self.expect("schedule halves 2 gate", "scheduled 2")
        steps = {task: step for step, task, _ in self.await_at("gate", 2)}
        relay.cut()
        self.await_log("worker/0 is lost, and what it had \\(functions: 1\\)")
        self.open("gate")
        # worker/0 goes on as well, and nobody hears of it.
        self.expect("join", "joined")
        self.assertEqual(self.at("gate")[2:][0][:2],
                         (steps["worker/0"], "worker/1"))
        self.expect("read", "first=2 second=2")
        self.await_task("worker/0", "silent")
        relay.mend()
        self.await_task("worker/0", "healthy")
        self.check_both_are_used()
        self.expect("read", "first=4 second=4")
        self.end()

    def check_both_are_used(self):
        self.await_status(ready=2)
        self.expect("schedule halves 2 again", "scheduled 2")
        tasks = {task for _, task, _ in self.await_at("again", 2)}
        self.assertEqual(tasks, {"worker/0", "worker/1"})
        self.open("again")
        self.expect("join", "joined")

    def test_update_that_arrives_when_its_worker_is_dead(self):
        # What worker/0 sends to the server of 'second' is held on the way.
        relay = Relay(free_ports(1)[0], self.ports["ps/1"])
        self.addCleanup(relay.close)
        port = relay.listener.getsockname()[1]
        config = self.tf_config("worker/0", ps_1=port)
        for name in ("worker/1", "ps/0", "ps/1", "chief/0"):
            self.start(name)
        # A server gives up a peer that is silent for 1.5 s. Then nothing was
        # late, and it is tried again.
        for attempt in range(1, 6):
            self.start("worker/0", config)
            if attempt == 1:
                self.expect_answer("ready")
            self.await_status(ready=2)
            late = self.send_late(relay, attempt)
            self.expect("read", f"first={4 * attempt} second={4 * attempt}")
            if late:
                break
        self.assertTrue(late)
        self.wait_for(lambda: self.duplicates() ==
                      {"first": attempt, "second": 1},
                      lambda: f"duplicates are {self.duplicates()}")
        self.expect("read", f"first={4 * attempt} second={4 * attempt}")
        self.end()

    def send_late(self, relay, attempt):
        """Runs four steps; one of them loses its worker while an update is on
        its way. Whether the server was still there for it when it arrived."""
        # Both workers have connections to both servers.
        self.expect(f"schedule halves 2 before{attempt}", "scheduled 2")
        self.await_at(f"before{attempt}", 2)
        self.open(f"before{attempt}")
        self.expect("join", "joined")
        self.expect(f"schedule halves 2 gate{attempt}", "scheduled 2")
        self.await_at(f"gate{attempt}", 2)
        relay.hold()
        self.open(f"gate{attempt}")
        # More than the header that a ping is.
        self.wait_for(lambda: relay.held > 56, lambda: "nothing is sent")
        self.kill("worker/0")
        self.expect("join", "joined")
        self.expect("read", f"first={4 * attempt} second={4 * attempt}")
        given_up = relay.given_up
        relay.mend()
        return not given_up

    def duplicates(self):
        """Of each variable: how often it was sent an update that it had."""
        _, lines = self.capstan_status("--variables")
        # NAME SHARD SERVER BYTES VERSION APPLIED DUPLICATES
        return {words[0]: int(words[6]) for words
                in (line.split() for line in lines)
                if words[:1] in (["first"], ["second"])}

    def test_slow_worker_does_not_hold_up_others(self):
        slow = self.dir / "notes" / "slow-worker-0"
        slow.touch()
        self.start_all()
        self.expect("schedule increment 40", "scheduled 40")
        # It runs one, and has two more at hand.
        self.await_status(finished=37, in_flight=3)
        self.expect("read", "first=37 second=0")
        slow.unlink()
        self.expect("join", "joined")
        self.expect("read", "first=40 second=0")
        self.end()


class Balance(Job):

    def test_idle_workers_come_first(self):
        self.start_all()
        for i in range(20):
            self.expect("schedule increment 2", "scheduled 2")
            self.expect("join", "joined")
            self.expect(f"schedule wait 2 gate{i}", "scheduled 2")
            tasks = {task for _, task, _ in self.await_at(f"gate{i}", 2)}
            self.assertEqual(tasks, {"worker/0", "worker/1"})
            self.open(f"gate{i}")
            self.expect("join", "joined")
        self.expect("read", "first=40 second=0")
        self.end()


class NoWorkers(Job):

    def test_says_so_and_goes_on_when_one_is_back(self):
        self.start_all()
        self.kill("worker/0", "worker/1")
        self.expect("schedule increment 5", "scheduled 5")
        self.tell("join")
        self.await_log(r"waiting to run 5 functions for \d+ s: no worker "
                       r"is ready: worker/0 \(.+\), worker/1 \(.+\)")
        self.start("worker/1")
        self.expect_answer("joined")
        self.expect("read", "first=5 second=0")
        self.end()


class NoWorkersForGood(Job):
    options = ("no_worker_timeout=2000",)

    def test_fails_with_the_list(self):
        self.start_all()
        self.kill("worker/0", "worker/1")
        self.expect("schedule increment 5", "scheduled 5")
        self.tell("join")
        message = self.expect_error("Unavailable", "-")
        self.assertRegex(message, r"^waited for 2 s to run 5 functions, and no "
                         r"worker is ready: worker/0 \(.+\), "
                         r"worker/1 \(.+\)$")
        print(f"without workers: {message}", flush=True)
        self.expect("values", "Cancelled=5")
        # All is as at the beginning.
        self.start("worker/0")
        self.expect("schedule increment 5", "scheduled 5")
        self.expect("join", "joined")
        self.expect("read", "first=5 second=0")
        self.end()


class Leaving(Job):
    # The first worker that was lost would be one too many.
    options = ("max_lost_workers=1",)

    def test_leaving_worker_hands_over_its_functions(self):
        self.start_all()
        self.expect("schedule halves 8 gate", "scheduled 8")
        self.await_at("gate", 2)
        self.await_status(queued=2, in_flight=6)
        self.tasks["worker/0"].terminate()
        self.assertEqual(self.tasks["worker/0"].wait(PATIENCE),
                         128 + signal.SIGTERM)
        self.await_status(queued=5, in_flight=3, retries=3)
        self.open("gate")
        self.expect("join", "joined")
        self.expect("read", "first=8 second=8")
        self.expect("values", "ok=8")
        self.assertIn("run again: 0 because a worker was lost, 0 because it "
                      "could not reach a server, 3 because it left; 0 poisoned",
                      self.capstan_status()[1])
        self.end()


class AnotherProgram(Job):
    workers = 1

    def test_worker_that_joins_with_it_does_not_disturb_the_job(self):
        self.start_all()
        # There is enough for a worker that comes.
        self.expect("schedule halves 20 gate", "scheduled 20")
        self.await_at("gate", 1)
        for _ in range(3):
            done = subprocess.run(
                [CAPSTAN, "worker", "--join",
                 f"127.0.0.1:{self.ports['chief/0']}", "--job", "test", "--",
                 BIN / "waiting_program"], text=True, capture_output=True,
                timeout=PATIENCE, env=environment())
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("it does not define function 'fail' ", done.stderr)
            self.await_status(ready=1)
        self.open("gate")
        self.expect("join", "joined")
        self.expect("read", "first=20 second=20")
        self.expect("values", "ok=20")
        self.end()

    def test_worker_of_the_start(self):
        self.start("ps/0")
        self.start("ps/1")
        chief = self.start("chief/0")
        worker = subprocess.run([BIN / "waiting_program"], text=True,
                                env=environment(
                                    TF_CONFIG=self.tf_config("worker/0"),
                                    CAPSTAN_JOB_ID="test"),
                                capture_output=True, timeout=PATIENCE)
        self.assertEqual(worker.returncode, 1, worker.stderr)
        self.assertEqual(chief.wait(PATIENCE), 1)
        for said in (worker.stderr, self.log()):
            self.assertIn("it does not define function 'fail' ", said)
        # Before the program's body.
        self.assertIsNone(self.answers.get(timeout=PATIENCE))


class Ends(Job):

    def test_job_ends_although_functions_run(self):
        self.start_all()
        # One that looks at Cancelled, one that never does.
        self.expect("schedule wait 1 never", "scheduled 1")
        self.expect("schedule stubborn 1 never", "scheduled 1")
        self.await_at("never", 2)
        self.end()
        self.await_at("cancelled", 1)

    def test_tasks_give_up_a_killed_coordinator(self):
        self.variables["CAPSTAN_RETURN_TIMEOUT"] = "1"
        self.start_all()
        self.expect("schedule wait 2 never", "scheduled 2")
        self.await_at("never", 2)
        self.kill("chief/0")
        self.await_at("cancelled", 2)
        for name in ("worker/0", "worker/1", "ps/0", "ps/1"):
            self.assertEqual(self.tasks[name].wait(PATIENCE), 1)
            self.assertIn("giving up on the job", self.log(name))

    def test_paused_coordinator_that_was_replaced_exits(self):
        self.start_all()
        self.expect("schedule halves 1 gate", "scheduled 1")
        self.await_at("gate", 1)
        first = self.tasks["chief/0"]
        self.tell("join")
        self.stop("chief/0")
        # At another address, as two on one address cannot be.
        port = free_ports(1)[0]
        self.start("chief/0", CAPSTAN_LISTEN=f"127.0.0.1:{port}")
        self.expect_answer("ready")
        self.expect("term", "2")
        # It wakes in its Join.
        first.send_signal(signal.SIGCONT)
        self.assertEqual(first.wait(PATIENCE), 1)
        self.await_log(rf"another coordinator \(127.0.0.1:{port}, term 2\) has "
                       "taken over")
        self.open("gate")
        self.expect("schedule halves 3 gate", "scheduled 3")
        self.expect("join", "joined")
        self.expect("read", "first=4 second=3")
        self.end()

    def test_restarted_coordinator_takes_over_the_variables(self):
        self.start_all()
        self.expect("schedule increment 5", "scheduled 5")
        self.expect("join", "joined")
        self.expect("schedule halves 2 gate", "scheduled 2")
        self.await_at("gate", 2)
        self.expect("read", "first=7 second=0")
        before = {name: task.pid for name, task in self.tasks.items()
                  if name != "chief/0"}
        self.kill("chief/0")
        self.start("chief/0")
        self.expect_answer("ready")
        self.expect("term", "2")
        # The living workers and servers, with what they hold. What is left of
        # the old steps meets an open gate, and a term that is not its.
        self.open("gate")
        self.expect("read", "first=7 second=0")
        self.expect("schedule halves 3 gate", "scheduled 3")
        self.expect("join", "joined")
        self.expect("read", "first=10 second=3")
        self.await_status(ready=2)
        self.assertEqual(before, {name: task.pid for name, task
                                  in self.tasks.items() if name != "chief/0"})
        self.end()


if __name__ == "__main__":
    unittest.main()
