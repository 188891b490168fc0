#!/usr/bin/env python3
"""Every mistake that a user can make at the start of a job gives one line that
says what is wrong and what to do, an exit code that is not 0, no stack trace
and no hang.

    tests/cluster/mistakes_test.py BIN_DIR
"""

import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment, free_ports

PROGRAM = BIN / "hello_cluster"


def cluster(ports=None, **jobs):
    ports = ports or free_ports(3)
    spec = {"chief": [f"127.0.0.1:{ports[0]}"],
            "worker": [f"127.0.0.1:{ports[1]}"],
            "ps": [f"127.0.0.1:{ports[2]}"]}
    spec.update(jobs)
    return {job: tasks for job, tasks in spec.items() if tasks is not None}


def config(spec, task="ps", index=0):
    return json.dumps({"cluster": spec, "task": {"type": task, "index": index}})


class Mistakes(unittest.TestCase):

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-mistakes-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def start(self, *command, **variables):
        """A task in the background, ended with the test."""
        log = open(self.dir / "log", "w")
        task = subprocess.Popen(command, env=environment(**variables),
                                stdout=subprocess.DEVNULL, stderr=log)
        log.close()
        self.addCleanup(task.wait)
        self.addCleanup(task.kill)
        return task

    def expect_one_warning(self, *texts):
        """The task in the background has said it once, however often it was
        called. Returns all that it has said."""
        said = (self.dir / "log").read_text().splitlines()
        warnings = [line for line in said if " W " in line]
        self.assertEqual(len(warnings), 1, said)
        for text in texts:
            self.assertIn(text, warnings[0])
        return said

    def expect(self, *texts, command=(CAPSTAN, "server"), code=1, lines=1,
               **variables):
        """Runs a command, which must fail with `lines` lines, the last of which
        has all `texts`."""
        done = subprocess.run(command, env=environment(**variables), text=True,
                              timeout=PATIENCE, capture_output=True)
        said = done.stderr.splitlines()
        self.assertEqual(done.returncode, code, done.stderr)
        if lines:
            self.assertEqual(len(said), lines, done.stderr)
        for text in texts:
            self.assertIn(text, said[-1])
        for word in ("terminate called", "Assertion", "Segmentation", "#0"):
            self.assertNotIn(word, done.stderr)

    def certs(self, name="certs"):
        folder = self.dir / name
        subprocess.run([CAPSTAN, "certs", folder], check=True,
                       stdout=subprocess.DEVNULL)
        return folder

    # What TF_CONFIG may look like.

    def test_config_is_no_json(self):
        self.expect("TF_CONFIG", TF_CONFIG="{cluster")

    def test_config_is_cut_off(self):
        self.expect("TF_CONFIG", TF_CONFIG=config(cluster())[:-2])

    def test_config_is_a_list(self):
        self.expect("TF_CONFIG", TF_CONFIG="[]")

    def test_config_has_no_cluster(self):
        self.expect("cluster", TF_CONFIG='{"task": {"type": "ps", "index": 0}}')

    def test_config_has_a_cluster_that_is_a_text(self):
        self.expect("cluster", TF_CONFIG='{"cluster": "here"}')

    def test_config_has_an_unknown_job(self):
        self.expect("master", TF_CONFIG=config(
            cluster(master=["127.0.0.1:1"])))

    def test_config_has_an_address_without_a_port(self):
        self.expect("ps/0", TF_CONFIG=config(cluster(ps=["localhost"])))

    def test_config_has_a_port_too_large(self):
        self.expect("70000", TF_CONFIG=config(cluster(ps=["localhost:70000"])))

    def test_config_has_a_number_for_an_address(self):
        self.expect("ps", TF_CONFIG=config(cluster(ps=[7077])))

    def test_config_has_one_address_twice(self):
        spec = cluster()
        spec["worker"] = spec["ps"]
        self.expect(spec["ps"][0], TF_CONFIG=config(spec))

    def test_config_has_no_task_type(self):
        self.expect("type", TF_CONFIG=json.dumps(
            {"cluster": cluster(), "task": {"index": 0}}))

    def test_config_has_an_unknown_task_type(self):
        self.expect("server", TF_CONFIG=config(cluster(), task="server"))

    def test_config_has_an_index_that_is_a_text(self):
        self.expect("index", TF_CONFIG=config(cluster(), index="first"))

    def test_config_does_not_say_which_task(self):
        self.expect("CAPSTAN_TASK",
                    TF_CONFIG=json.dumps({"cluster": cluster()}))

    # What the cluster may look like.

    def test_two_chiefs(self):
        self.expect("chief", TF_CONFIG=config(
            cluster(chief=["127.0.0.1:1", "127.0.0.1:2"])))

    def test_no_worker(self):
        self.expect("worker", TF_CONFIG=config(cluster(worker=None)))

    def test_no_ps(self):
        self.expect("ps", TF_CONFIG=config(cluster(ps=None), task="worker"))

    def test_index_out_of_range(self):
        self.expect("ps/3", TF_CONFIG=config(cluster(), index=3))

    def test_no_cluster_at_all(self):
        self.expect("TF_CONFIG", "--cluster", "capstan run")

    def test_cluster_file_that_is_not_there(self):
        self.expect("nowhere.yaml",
                    command=(CAPSTAN, "server", "--cluster", "nowhere.yaml"))

    def test_chief_as_a_server(self):
        self.expect("chief", TF_CONFIG=config(cluster(), task="chief"))

    # What is on the network.

    def test_port_taken(self):
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        self.expect(address, "in use", TF_CONFIG=config(cluster(ps=[address])))

    def test_missing_tasks(self):
        spec = cluster()
        self.expect("worker/0 at " + spec["worker"][0],
                    "ps/0 at " + spec["ps"][0], "1 s",
                    command=(PROGRAM,), lines=None,
                    TF_CONFIG=config(spec, task="chief"),
                    CAPSTAN_START_TIMEOUT="1")

    def test_another_task_at_the_address(self):
        spec = cluster()
        swapped = dict(spec, worker=spec["ps"], ps=spec["worker"])
        self.start(CAPSTAN, "server", TF_CONFIG=config(swapped))
        self.expect("expected worker/0", "ps/0 answers",
                    command=(PROGRAM,), lines=None,
                    TF_CONFIG=config(spec, task="chief"),
                    CAPSTAN_START_TIMEOUT="30")

    def test_another_job(self):
        spec = cluster()
        self.start(CAPSTAN, "server", TF_CONFIG=config(spec),
                   CAPSTAN_JOB_ID="one")
        self.expect("ps/0 does not belong to job 'two'", command=(PROGRAM,),
                    lines=None, TF_CONFIG=config(spec, task="chief"),
                    CAPSTAN_JOB_ID="two", CAPSTAN_START_TIMEOUT="30")
        self.expect_one_warning("chief/0", "'one'", "'two'")

    def test_something_else_at_the_address(self):
        other = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(other.close)
        address = f"127.0.0.1:{other.getsockname()[1]}"
        self.expect("ps/0 at " + address, command=(PROGRAM,), lines=None,
                    TF_CONFIG=config(cluster(ps=[address]), task="chief"),
                    CAPSTAN_START_TIMEOUT="2")

    # Who may listen where, and with which certificates.

    def test_open_address_without_tls(self):
        self.expect("--tls", "--insecure-network", TF_CONFIG=config(
            cluster(ps=["0.0.0.0:7077"])))

    def test_no_certificates(self):
        self.expect("nowhere", "capstan certs", TF_CONFIG=config(cluster()),
                    CAPSTAN_TLS="nowhere")

    def test_key_that_others_can_read(self):
        certs = self.certs()
        (certs / "ps.key").chmod(0o644)
        self.expect("ps.key", "chmod", TF_CONFIG=config(cluster()),
                    CAPSTAN_TLS=str(certs))

    def test_key_of_another_certificate(self):
        certs = self.certs()
        shutil.copy(certs / "worker.key", certs / "ps.key")
        self.expect("ps.key", TF_CONFIG=config(cluster()),
                    CAPSTAN_TLS=str(certs))

    def test_certificate_that_is_none(self):
        certs = self.certs()
        (certs / "ps.pem").write_text("hello\n")
        self.expect("ps.pem", TF_CONFIG=config(cluster()),
                    CAPSTAN_TLS=str(certs))

    def test_token_without_tls(self):
        self.expect("token", "--tls", TF_CONFIG=config(cluster()),
                    CAPSTAN_TOKEN=str(self.certs() / "token"))

    def test_token_that_others_can_read(self):
        certs = self.certs()
        (certs / "token").chmod(0o644)
        self.expect("token", "chmod", TF_CONFIG=config(cluster()),
                    CAPSTAN_TLS=str(certs), CAPSTAN_TOKEN=str(certs / "token"))

    def test_another_token(self):
        spec = cluster()
        certs = self.certs()
        task = self.start(CAPSTAN, "server", TF_CONFIG=config(spec),
                          CAPSTAN_TLS=str(certs), CAPSTAN_START_TIMEOUT="5",
                          CAPSTAN_TOKEN=str(certs / "token"))
        self.expect("another job token", "--token", command=(PROGRAM,),
                    lines=None, TF_CONFIG=config(spec, task="chief"),
                    CAPSTAN_TLS=str(certs),
                    CAPSTAN_TOKEN=str(self.certs("other") / "token"),
                    CAPSTAN_START_TIMEOUT="30")
        self.assertEqual(task.wait(PATIENCE), 1)
        said = self.expect_one_warning("chief/0", "another job token")
        for text in ("no coordinator", "turned away", "chief/0",
                     "another job token"):
            self.assertIn(text, said[-1])

    def test_another_authority(self):
        spec = cluster()
        self.start(CAPSTAN, "server", TF_CONFIG=config(spec),
                   CAPSTAN_TLS=str(self.certs("one")))
        self.expect("certificate", command=(PROGRAM,), lines=None,
                    TF_CONFIG=config(spec, task="chief"),
                    CAPSTAN_TLS=str(self.certs("two")),
                    CAPSTAN_START_TIMEOUT="30")

    def test_tls_on_one_side_only(self):
        spec = cluster()
        self.start(CAPSTAN, "server", TF_CONFIG=config(spec))
        self.expect("ps/0 at " + spec["ps"][0], command=(PROGRAM,), lines=None,
                    TF_CONFIG=config(spec, task="chief"),
                    CAPSTAN_TLS=str(self.certs()), CAPSTAN_START_TIMEOUT="2")
        self.expect_one_warning("uses TLS and this side does not")

    # The command line.

    def test_unknown_flag(self):
        self.expect("--cluster", command=(CAPSTAN, "server", "--clustre", "x"),
                    code=2, lines=None)

    def test_unknown_command(self):
        self.expect("server", command=(CAPSTAN, "sever"), code=2, lines=None)

    def test_unknown_log_level(self):
        self.expect("loud", command=(CAPSTAN, "server", "--log-level", "loud"),
                    TF_CONFIG=config(cluster()))


if __name__ == "__main__":
    unittest.main()
