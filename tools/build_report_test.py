#!/usr/bin/env python3
"""Runs tools/build_report on a log made up here, and where there is none."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "build_report"

LIBRARY = "src/wire/CMakeFiles/capstan_wire.dir/Unity/unity_0_cxx.cxx.o"
TEST = "src/wire/CMakeFiles/wire_test.dir/Unity/unity_0_cxx.cxx.o"
BENCH = "benchmarks/bench_wire/CMakeFiles/bench_wire.dir/main.cc.o"
HEADER = "CMakeFiles/capstan_precompiled_test.dir/cmake_pch.hxx.gch"
PROTO = "src/wire/wire.pb.cc"

TARGETS = {
    LIBRARY: "CXX_COMPILER__capstan_wire_Release",
    TEST: "CXX_COMPILER__wire_test_Release",
    BENCH: "CXX_COMPILER__bench_wire_Release",
    HEADER: "CXX_COMPILER__capstan_precompiled_test_Release",
    PROTO: "CUSTOM_COMMAND",
    "src/wire/wire.pb.h": "CUSTOM_COMMAND",
    "lib/libcapstan_wire.a": "CXX_STATIC_LIBRARY_LINKER__capstan_wire_Release",
    "bin/wire_test": "CXX_EXECUTABLE_LINKER__wire_test_Release",
}

DEPS = f"""\
{HEADER}: #deps 2, deps mtime 1 (VALID)
    /usr/include/asio/post.hpp
    /usr/include/gtest/gtest.h

{LIBRARY}: #deps 4, deps mtime 1 (VALID)
    ../../src/wire/frame.cc
    ../../include/capstan/torch.h
    /usr/include/google/protobuf/message_lite.h
    /usr/include/asio/ip/tcp.hpp

{TEST}: #deps 2, deps mtime 1 (VALID)
    ../../src/wire/frame_test.cc
    /usr/include/gtest/gtest.h

"""

QUERY = f"""\
{LIBRARY}:
  input: CXX_COMPILER__capstan_wire_Release
    src/wire/unity_0_cxx.cxx
  outputs:
    lib/libcapstan_wire.a
{TEST}:
  input: CXX_COMPILER__wire_test_Release
    src/wire/unity_0_cxx.cxx
    | {HEADER}
  outputs:
    bin/wire_test
"""

# Begin and end in ms, when the output was written in ns, output, command. Two
# builds, of which the second began at 1000 s.
LOG = [
    (0, 500, 500490000000, PROTO, "a5"),
    (0, 500, 500490000000, "src/wire/wire.pb.h", "a5"),  # of the same step
    (0, 5000, 504990000000, HEADER, "a7"),
    (0, 8000, 507990000000, TEST, "a1"),
    (0, 12000, 511990000000, BENCH, "a3"),
    (0, 30000, 529990000000, LIBRARY, "a2"),
    (30000, 30500, 530490000000, "lib/libcapstan_wire.a", "a6"),
    (0, 99000, 598990000000, "src/gone.cc.o", "a8"),  # not in TARGETS
    (0, 2000, 1001999000000, TEST, "a1"),
    (2000, 3500, 1003490000000, "bin/wire_test", "a4"),
]


class BuildReportTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.build = self.root / "build"
        self.build.mkdir()
        self.bin = self.root / "bin"
        self.bin.mkdir()
        targets = "".join(f"{name}: {rule}\n" for name, rule in TARGETS.items())
        for name, text in (("targets", targets), ("deps", DEPS),
                           ("query", QUERY)):
            (self.root / name).write_text(text)
        # Called as: ninja -n -C BUILD -t TOOL ...
        self.write_ninja(f'[ "$1 $2 $4" = "-n -C -t" ] && '
                         f'/bin/cat "{self.root}/$5"')

    def write_ninja(self, command):
        ninja = self.bin / "ninja"
        ninja.write_text(f"#!/bin/sh\n{command}\n")
        ninja.chmod(0o755)

    def write_log(self, entries, header="# ninja log v5"):
        lines = [header] + ["\t".join(map(str, entry)) for entry in entries]
        (self.build / ".ninja_log").write_text("\n".join(lines) + "\n")

    def run_tool(self, *args):
        return subprocess.run(
            [sys.executable, TOOL, *args], text=True, capture_output=True,
            env={**os.environ, "PATH": str(self.bin)}, check=False)

    def report(self):
        done = self.run_tool(self.build)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def expect_error(self, pattern, *args):
        done = self.run_tool(*(args or [self.build]))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, rf"\Atools/build_report: {pattern}\n\Z")

    def test_totals(self):
        self.write_log(LOG)
        self.assertIn("7 steps, 51.5 s added up\n", self.report())

    def test_last_entry_of_an_output_counts(self):
        self.write_log([(0, 7000, 1, TEST, "a1"), (0, 3000, 2, TEST, "a1")])
        self.assertIn("1 step, 3.0 s added up\n", self.report())

    def test_last_build(self):
        self.write_log(LOG)
        last = "last build: 2 steps, 3.5 s added up, 3.5 s of wall time"
        self.assertIn(last, self.report())
        # As Ninja leaves it when it has rewritten its log: in no order.
        self.write_log(LOG[8:] + LOG[4:8] + LOG[:3])
        self.assertIn(last, self.report())

    def test_kinds(self):
        self.write_log(LOG)
        text = self.report()
        self.assertRegex(text, r"\n +44\.0 +85% +3  compiling\n")
        self.assertRegex(text, r"\n +5\.0 +10% +1  precompiled headers\n")
        self.assertRegex(text, r"\n +2\.0 +4% +2  linking\n")
        self.assertRegex(text, r"\n +0\.5 +1% +1  other\n")

    def test_folders(self):
        self.write_log(LOG)
        text = self.report()
        self.assertRegex(text, r"\n +32\.0 +62% +2  src/wire\n")
        self.assertRegex(text, r"\n +12\.0 +23% +1  benchmarks/bench_wire\n")

    def test_slowest_first(self):
        self.write_log(LOG)
        slowest = self.report().partition("slowest steps")[2]
        self.assertRegex(slowest, rf"30\.0 +58% +{LIBRARY}\n +12\.0 +23% "
                         rf"+{BENCH}\n +5\.0 +10% +{HEADER}\n")
        self.assertNotIn("gone", slowest)

    def test_heavy_headers(self):
        self.write_log(LOG)
        text = self.report().partition("Heavy headers")[2]
        # The precompiled header reads it, and one header is not in that.
        self.assertRegex(text, r"\n +35\.0 +68% +2  asio "
                         r"\(precompiled for 1 more\)\n")
        self.assertRegex(text, r"\n +30\.0 +58% +1  google/protobuf\n")
        self.assertRegex(text, r"\n +5\.0 +10% +1  gtest, gmock "
                         r"\(precompiled for 1 more\)\n")
        self.assertRegex(text, r"\n +0\.0 +0% +0  torch\n")
        self.assertIn("that start with a precompiled header: 1 of 3\n", text)

    def test_lines_that_were_cut_off_are_passed_over(self):
        self.write_log([*LOG[:2], (0, 100)])
        self.assertIn("1 step, 0.5 s added up\n", self.report())

    def test_no_such_directory(self):
        self.expect_error(".*/absent: no such directory",
                          self.root / "absent")

    def test_no_log(self):
        self.expect_error(r".*/\.ninja_log: No such file or directory; "
                          "build first")

    def test_another_log(self):
        self.write_log(LOG, header="# ninja log v4")
        self.expect_error(r".*/\.ninja_log: not a log of Ninja 1\.5 or newer")
        (self.build / ".ninja_log").write_text("")
        self.expect_error(r".*/\.ninja_log: not a log of Ninja 1\.5 or newer")

    def test_empty_log(self):
        self.write_log([])
        self.expect_error(".*/build: nothing was built there")

    def test_ninja_is_missing(self):
        self.write_log(LOG)
        (self.bin / "ninja").unlink()
        self.expect_error("ninja is not installed: run tools/setup")

    def test_ninja_fails(self):
        self.write_log(LOG)
        self.write_ninja("echo 'ninja: error: loading build.ninja' >&2; exit 1")
        self.expect_error(".*/build: ninja: error: loading build.ninja")


if __name__ == "__main__":
    unittest.main()
