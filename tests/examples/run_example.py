"""What the tests of examples share."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
from processes import BIN, CAPSTAN, environment  # noqa: E402

PATIENCE = 300  # seconds; longer than any of this takes


class ExampleTest(unittest.TestCase):
    """Runs programs in a folder of its own, self.dir."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="capstan-example-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def run_command(self, *command):
        """Its output, of which it must have succeeded."""
        done = subprocess.run(
            [str(word) for word in command], cwd=self.dir, env=environment(),
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def run_alone(self, name, *args):
        return self.run_command(BIN / name, *args)

    def run_cluster(self, name, *args):
        """As processes: two workers, two servers."""
        return self.run_command(CAPSTAN, "run", "-w", "2", "-s", "2", "--",
                                BIN / name, *args)

    def assertFinds(self, pattern, text):
        """The match of a pattern, whose groups are numbers, as numbers."""
        self.assertRegex(text, pattern)
        return [float(group) for group in re.search(pattern, text).groups()]
