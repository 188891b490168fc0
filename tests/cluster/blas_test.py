#!/usr/bin/env python3
"""How programs get the right kernels of OpenBLAS, and as many threads as they
should have; with a library that looks like it.

    tests/cluster/blas_test.py BIN_DIR
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from processes import BIN, CAPSTAN, PATIENCE, environment

PROGRAM = BIN / "blas_program"


def best_core():
    """As OpenBlasCoreFor."""
    found = re.search(r"^flags\s*:(.*)$",
                      pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    flags = set(found.group(1).split()) if found else set()
    if not {"avx2", "fma"} <= flags:
        return None
    avx512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags
    return "SKYLAKEX" if avx512 else "HASWELL"


class Blas(unittest.TestCase):

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-blas-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.core = best_core()
        if self.core is None:
            self.skipTest("this CPU has no better kernels than the oldest")

    def run_program(self, *command, **variables):
        """Its process id, standard output and standard error."""
        env = environment(**variables)
        for name in ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS",
                     "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            if name not in variables:
                env.pop(name, None)
        program = subprocess.Popen(command, env=env, text=True, cwd=self.dir,
                                   stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(program.kill)
        out, err = program.communicate(timeout=PATIENCE)
        self.assertEqual(program.returncode, 0, err)
        return program.pid, out, err

    def test_program_starts_itself_again(self):
        pid, out, err = self.run_program(PROGRAM, "a b", "", "--c=*")
        self.assertIn(f"made pid={pid} core={self.core} ", out)
        self.assertIn("restarted=1 arguments=3 [a b] [] [--c=*]", out)
        # Once, and nothing that was written before is lost.
        self.assertEqual(out.count("begins"), 2, out)
        self.assertEqual(out.count("made"), 1, out)
        self.assertNotIn("slow", err)

    def test_name_stays(self):
        """ps shows the program's name, not that of a link in /proc."""
        _, out, _ = self.run_program(PROGRAM)
        self.assertIn("restarted=1", out)
        self.assertIn("name=blas_program", out)

    def test_choice_of_the_user_stays(self):
        _, out, err = self.run_program(PROGRAM, OPENBLAS_CORETYPE="Prescott")
        self.assertIn("core=Prescott", out)
        self.assertIn("restarted=0", out)
        self.assertRegex(err, "capstan: slow BLAS: OpenBLAS with the kernels "
                         f"Prescott.*set OPENBLAS_CORETYPE={self.core}\n")

    def test_never_more_than_once(self):
        _, out, err = self.run_program(PROGRAM, CAPSTAN_BLAS_RESTARTED="1")
        self.assertIn("core=Prescott", out)
        self.assertEqual(out.count("begins"), 1, out)
        self.assertIn("slow BLAS", err)

    def test_workers_in_one_process_share_the_cores(self):
        _, out, _ = self.run_program(PROGRAM)
        share = max(1, len(os.sched_getaffinity(0)) // 2)
        self.assertRegex(out, rf"worker .* threads={share} ")
        _, out, _ = self.run_program(PROGRAM, OMP_NUM_THREADS="7")
        self.assertRegex(out, r"worker .* threads=64 ")

    def test_launcher_chooses(self):
        _, out, err = self.run_program(CAPSTAN, "run", "-w", "2", "-s", "1",
                                       "--", PROGRAM)
        self.assertEqual(out.count("begins"), 3, out)
        self.assertEqual(len(re.findall(f"made .* core={self.core} .*"
                                        "restarted=0", out)), 3, out)
        self.assertNotIn("slow", out + err)


if __name__ == "__main__":
    unittest.main()
