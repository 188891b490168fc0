#!/usr/bin/env python3
"""docs/tutorial.md: its code is that of the programs, and they run.

    tests/examples/tutorial_test.py BIN_DIR [CLASS]
"""

import re
import unittest

from run_example import CAPSTAN, BIN, ROOT, ExampleTest

PAGE = ROOT / "docs" / "tutorial.md"
FOLDER = ROOT / "examples" / "tutorial"
RIDES = FOLDER / "rides.csv"


class Text(unittest.TestCase):
    """A fence says which file its code is from: ```cpp path/of/file.cc."""

    def setUp(self):
        self.blocks = re.findall(r"^```cpp *(.*?)\n(.*?)^```$",
                                 PAGE.read_text(), re.MULTILINE | re.DOTALL)

    def test_code_is_that_of_the_files(self):
        for name, code in self.blocks:
            with self.subTest(file=name, code=code):
                self.assertRegex(name, r"^examples/tutorial/\w+\.cc$")
                self.assertIn(code, (ROOT / name).read_text())

    def test_each_program_is_in_the_page(self):
        named = {name for name, _ in self.blocks}
        files = {str(file.relative_to(ROOT)) for file in FOLDER.glob("*.cc")}
        self.assertTrue(files)
        self.assertEqual(named, files)

    def test_first_program_is_whole(self):
        name = "examples/tutorial/first_model.cc"
        code = "\n".join(code for other, code in self.blocks if other == name)
        # But for the comment on its first line.
        whole = (ROOT / name).read_text().split("\n", 1)[1]
        self.assertEqual(code, whole)

    def test_data_begins_as_shown(self):
        lines = RIDES.read_text().splitlines(keepends=True)
        self.assertIn("".join(lines[:4]), PAGE.read_text())


class FirstModel(ExampleTest):

    def test_learns_the_ring(self):
        text = self.run_alone("first_model")
        accuracy, = self.assertFinds(r"evaluated .*accuracy: (\S+)\n", text)
        self.assertGreater(accuracy, 0.9)
        self.assertIn("predictions: 2000,", text)
        self.assertTrue((self.dir / "ring.safetensors").exists())


class OwnData(ExampleTest):

    def test_learns_the_prices(self):
        text = self.run_alone("rides", RIDES)
        error, = self.assertFinds(r"mean error (\S+)\n", text)
        self.assertLess(error, 2.5)  # 13 untrained

    def test_without_a_file(self):
        with self.assertRaisesRegex(AssertionError, "usage: rides FILE.csv"):
            self.run_alone("rides")

    def test_bad_line_is_named(self):
        bad = self.dir / "bad.csv"
        lines = RIDES.read_text().splitlines(keepends=True)
        lines[300] = "north,far,7,12.5\n"
        bad.write_text("".join(lines))
        with self.assertRaisesRegex(AssertionError, r'bad\.csv:301: column 2 "km"'):
            self.run_alone("rides", bad)


class CustomLoop(ExampleTest):

    def test_learns_the_prices(self):
        text = self.run_alone("rides", RIDES, "loop")
        self.assertIn("epoch 20: loss", text)
        error, = self.assertFinds(r"mean error (\S+)\n", text)
        self.assertLess(error, 2.5)  # 13 untrained


class Distributed(ExampleTest):

    def test_same_programs_as_processes(self):
        for how in ("fit", "loop"):
            with self.subTest(how):
                text = self.run_command(CAPSTAN, "run", "-w", "2", "-s", "1",
                                        "--", BIN / "rides", RIDES, how)
                error, = self.assertFinds(r"mean error (\S+)\n", text)
                self.assertLess(error, 2.5)  # 13 untrained


if __name__ == "__main__":
    unittest.main()
