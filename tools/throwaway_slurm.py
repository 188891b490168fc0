"""A Slurm of two nodes on this machine, which leaves nothing behind.

munged, slurmctld and two slurmd run as children of this process, as its user,
with a key and a configuration of their own: services of the system are neither
used nor changed. The nodes are called by their addresses, so that programs of
a job find one another on loopback. Slurm itself listens on all addresses, but
obeys only who has the key.
"""

import contextlib
import ctypes
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NODES = ("127.0.0.1", "127.0.0.2")
PACKAGES = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd",
            "srun": "slurm-client"}
DEADLINE = 60  # seconds, for all that is waited for
PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>

CONFIGURATION = """\
ClusterName=throwaway
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
MailProg=/bin/true
PartitionName=all Nodes=ALL Default=YES
"""


class SlurmError(Exception):
    """Slurm cannot be installed, does not start or does not end a job."""


def install():
    """Installs the Debian packages of the programs that are missing."""
    missing = [package for program, package in PACKAGES.items()
               if not shutil.which(program)]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise SlurmError(f"missing programs: install {', '.join(PACKAGES)}")
    if os.geteuid() != 0 and not shutil.which("sudo"):
        raise SlurmError(
            "missing packages, and neither root nor sudo. As root, run: "
            f"apt-get install --no-install-recommends {' '.join(missing)}")
    apt = [] if os.geteuid() == 0 else ["sudo"]
    apt += ["env", "DEBIAN_FRONTEND=noninteractive",
            "apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300"]
    print("Installing:", *missing, flush=True)
    # A failed update is no reason to stop: the lists at hand may do.
    subprocess.run([*apt, "update"])
    if subprocess.run([*apt, "install", "--no-install-recommends",
                       *missing]).returncode:
        raise SlurmError(f"cannot install {' '.join(missing)}")


def free_ports(count):
    """The first of so many consecutive ports that are free on all nodes."""
    for _ in range(1000):
        # Below those that the kernel gives to outgoing connections.
        first = random.randrange(20000, 32000)
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError):
            for port in range(first, first + count):
                for address in NODES:
                    probe = probes.enter_context(socket.socket())
                    probe.bind((address, port))
            return first
    raise SlurmError(f"no {count} consecutive ports are free")


def processors():
    """This machine's, in the words of slurm.conf."""
    words = subprocess.run(["slurmd", "-C"], stdout=subprocess.PIPE,
                           text=True).stdout
    found = re.findall(r"\b(?:CPUs|Boards|SocketsPerBoard|CoresPerSocket|"
                       r"ThreadsPerCore)=\d+", words)
    return " ".join(found or [f"CPUs={os.cpu_count()}"])


def children():
    """The processes whose parent this one is."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = stat.read_text().rsplit(")", 1)[1].split()[1]
            if int(parent) == os.getpid():
                found.append(int(stat.parent.name))
    return found


class ThrowawaySlurm:
    """Use it in a `with`: that starts it, and ends all that runs in it."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="throwaway-slurm-"))
        # Without what would tell a job of another cluster.
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("SLURM", "SBATCH", "SRUN", "SALLOC"))}
        self.environment["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self._daemons = {}
        self._waited_for = set()  # pids of what subprocess waits for

    def __enter__(self):
        # Orphans of jobs become children of this process, which can end them.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            self._start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, _, error, __):
        if isinstance(error, SlurmError):
            self.print_logs()
        self._stop()

    def run(self, *command, **variables):
        """Runs a command of Slurm, such as srun, on idle nodes.

        Returns its exit code and all that it printed, in one string. Throws
        SlurmError if it does not end.
        """
        self._wait_for("idle nodes", self._is_idle)
        printed = self.folder / "output"
        process = self._popen(command, printed,
                              env=self.environment | variables)
        try:
            self._wait_for(f"end of {command[0]}",
                           lambda: process.poll() is not None)
        except SlurmError as error:
            process.kill()
            process.wait()
            raise SlurmError(f"{error}:\n{printed.read_text()}") from None
        return process.returncode, printed.read_text()

    def print_logs(self):
        for name in self._daemons:
            # What went wrong before there was a log, is not in it.
            for kind in ("log", "err"):
                path = self.folder / f"{name}.{kind}"
                if path.exists() and path.stat().st_size > 0:
                    lines = path.read_text(errors="replace").splitlines()
                    print(f"---- the last lines of {name}:", *lines[-40:],
                          sep="\n")
                    break

    def _start(self):
        self._configure()
        # munged wants its socket to be within reach of all, its key not.
        self.folder.chmod(0o711)
        key = self.folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(1024))
        self._start_daemon(
            "munged", "munged", "--foreground", f"--key-file={key}",
            f"--socket={self.folder}/munge.socket",
            f"--pid-file={self.folder}/munged.pid",
            f"--seed-file={self.folder}/munged.seed")
        self._wait_for("munged's socket",
                       (self.folder / "munge.socket").exists)
        (self.folder / "state").mkdir()
        self._start_daemon("slurmctld", "slurmctld", "-D")
        for node in NODES:
            (self.folder / f"spool-{node}").mkdir()
            self._start_daemon(f"slurmd-{node}", "slurmd", "-D", "-N", node)
        self._wait_for("idle nodes", self._is_idle)

    def _configure(self):
        host = socket.gethostname().split(".")[0]
        port = free_ports(1 + len(NODES))
        text = CONFIGURATION.format(
            host=host, port=port, folder=self.folder,
            user=pwd.getpwuid(os.geteuid()).pw_name)
        for i, node in enumerate(NODES):
            text += (f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 "
                     f"Port={port + 1 + i} {processors()}\n")
        (self.folder / "slurm.conf").write_text(text)

    def _start_daemon(self, name, *command):
        # In a session of its own, Ctrl-C does not end it before its time.
        self._daemons[name] = self._popen(
            command, self.folder / f"{name}.err", env=self.environment,
            start_new_session=True)

    def _popen(self, command, output, **options):
        with open(output, "wb") as file:
            process = subprocess.Popen(
                command, cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=file, stderr=file, **options)
        self._waited_for.add(process.pid)
        return process

    def _wait_for(self, what, is_there):
        deadline = time.monotonic() + DEADLINE
        while not is_there():
            self._reap_orphans()
            for name, daemon in self._daemons.items():
                if daemon.poll() is not None:
                    raise SlurmError(f"{name} ended: {daemon.returncode}")
            if time.monotonic() > deadline:
                raise SlurmError(f"no {what} within {DEADLINE} s")
            time.sleep(0.05)

    def _reap_orphans(self):
        # To Slurm, a process that nobody has waited for still runs.
        for pid in set(children()) - self._waited_for:
            os.waitpid(pid, os.WNOHANG)

    def _is_idle(self):
        states = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--format=%T"],
            env=self.environment, capture_output=True, text=True).stdout
        return states.split() == ["idle"] * len(NODES)

    def _stop(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for daemon in reversed(self._daemons.values()):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        while orphans := children():
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        shutil.rmtree(self.folder)
