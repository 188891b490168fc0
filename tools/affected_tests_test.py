#!/usr/bin/env python3
"""Tests tools/affected_tests.py on what a made-up Ninja says."""

import pathlib
import unittest
from unittest import mock

import affected_tests
import ninja_graph

ROOT = ninja_graph.ROOT
BUILD = pathlib.Path("build/clang")

# {object: the file that it is made of and the others that it includes}
OBJECTS = {
    "src/base/CMakeFiles/capstan_base.dir/clock.cc.o":
        ["src/base/clock.cc", "src/base/clock.h"],
    "src/base/CMakeFiles/base_test.dir/clock_test.cc.o":
        ["src/base/clock_test.cc", "src/base/clock.h"],
    "src/wire/CMakeFiles/capstan_wire.dir/frame.cc.o":
        ["src/wire/frame.cc", "src/base/clock.h", "include/capstan/error.h"],
    "src/wire/CMakeFiles/wire_test.dir/frame_test.cc.o":
        ["src/wire/frame_test.cc"],
    "src/wire/part/CMakeFiles/wire_part_test.dir/part_test.cc.o":
        ["src/wire/part/part_test.cc"],
    "tests/run/CMakeFiles/run_test.dir/run_test.cc.o":
        ["tests/run/run_test.cc"],
    "tests/run/CMakeFiles/helper.dir/helper.cc.o": ["tests/run/helper.cc"],
    "fuzz/CMakeFiles/replay_frame.dir/frame_fuzz.cc.o": ["fuzz/frame_fuzz.cc"],
}
BASE, BASE_TEST, WIRE, WIRE_TEST, PART_TEST, RUN_TEST, HELPER, REPLAY = OBJECTS

# As ninja -t inputs: with what libraries are made of.
INPUTS = {
    "bin/base_test": ["lib/libcapstan_base.a", BASE, BASE_TEST],
    "bin/wire_test": ["lib/libcapstan_base.a", "lib/libcapstan_wire.a", BASE,
                      WIRE, WIRE_TEST],
    "bin/wire_part_test": [PART_TEST],
    "bin/run_test": [RUN_TEST, "bin/helper", HELPER],
    "bin/replay_frame": [REPLAY, BASE, WIRE],
}
TARGETS = "".join(f"{output}: CXX_EXECUTABLE_LINKER__x_Release\n" for output in
                  [*INPUTS, "bin/base_link_test", "bin/helper"])
TARGETS += ("lib/libcapstan_base.a: CXX_STATIC_LIBRARY_LINKER__x_Release\n"
            "bin/notes_test: CUSTOM_COMMAND\n")
ALL = {"base_test", "wire_test", "wire_part_test", "run_test", "replay_frame"}


def ninja(build, tool, *words):
    assert build == BUILD
    if tool == "deps":
        return "".join(f"{output}: #deps {len(files)}, deps mtime 1 (VALID)\n" +
                       "".join(f"    {ROOT}/{file}\n" for file in files) + "\n"
                       for output, files in OBJECTS.items())
    if tool == "targets":
        return TARGETS
    return "".join(f"{line}\n" for line in INPUTS[words[0]])


class AffectedTestsTest(unittest.TestCase):
    def expect(self, changed, programs):
        with mock.patch.object(ninja_graph, "ask", ninja):
            unaffected = affected_tests.unaffected_programs(
                BUILD, set(changed.split()))
        self.assertEqual(ALL - unaffected, set(programs.split()))
        self.assertLessEqual(unaffected, ALL)

    def test_test_programs(self):
        self.assertEqual(affected_tests.test_programs(
            ninja_graph.parse_targets(TARGETS)), ALL)

    def test_test(self):
        self.expect("src/base/clock_test.cc", "base_test")

    def test_source_of_a_library(self):
        self.expect("src/base/clock.cc", "base_test wire_test replay_frame")
        self.expect("src/wire/frame.cc", "wire_test replay_frame")

    def test_header(self):
        self.expect("src/base/clock.h", "base_test wire_test replay_frame")
        self.expect("include/capstan/error.h", "wire_test replay_frame")

    def test_source_of_a_program_that_a_test_runs(self):
        self.expect("tests/run/helper.cc", "run_test")

    def test_source_that_is_not_compiled(self):
        self.expect("src/torch/deleted.h src/torch/weights.cc", "")

    def test_several(self):
        self.expect("src/wire/part/part_test.cc tests/run/run_test.cc",
                    "wire_part_test run_test")

    def test_other_files_of_a_folder_stand_for_all_of_it(self):
        for name in ("CMakeLists.txt", "wire.proto", "testdata/golden.bin"):
            self.expect(f"src/wire/{name}",
                        "wire_test wire_part_test replay_frame")
        self.expect("src/wire/part/CMakeLists.txt", "wire_part_test")
        self.expect("tests/scenarios/calm.yaml", "run_test")
        self.expect("fuzz/corpus/frame/hello", "replay_frame")

    def test_folder_that_nothing_is_known_of(self):
        self.expect("include/capstan/data.bin", " ".join(ALL))

    def test_what_everything_depends_on(self):
        for name in ("CMakeLists.txt", "CMakePresets.json", "cmake/Layer.cmake",
                     "tools/tsan_suppressions.txt"):
            self.expect(name, " ".join(ALL))

    def test_what_nothing_depends_on(self):
        self.expect("README.md docs/wire.md src/wire/README.md tools/check "
                    "tests/cluster/run_test.py Makefile .clang-format "
                    "benchmarks/bench_wire/main.cc", "")


if __name__ == "__main__":
    unittest.main()
