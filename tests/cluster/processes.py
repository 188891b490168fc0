"""What the tests of real processes share. Takes the folder of the programs from
the command line: TEST.py BIN_DIR."""

import json
import os
import pathlib
import random
import socket
import sys

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
CAPSTAN = BIN / "capstan"
PATIENCE = 60  # seconds; longer than any of this takes


def free_ports(count):
    """Ports that nobody listens on, all different, and below those that the
    kernel gives to outgoing connections: nobody takes one by accident."""
    sockets = []
    while len(sockets) < count:
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", random.randrange(10_000, 32_000)))
            sockets.append(one)
        except OSError:
            one.close()
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def logged_epochs(folder):
    """Those that train_program has logged, as CSV and as JSON."""
    rows = (folder / "log.csv").read_text().splitlines()[1:]
    lines = (folder / "log.jsonl").read_text().splitlines()
    return ([int(row.split(",")[0]) for row in rows],
            [json.loads(line)["epoch"] for line in lines])


def environment(**variables):
    """The process's own, without a cluster that it may be in."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("CAPSTAN_", "SLURM_", "TF_", "KUBERNETES_"))}
    env.update(variables)
    return env
