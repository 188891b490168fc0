#!/usr/bin/env python3
"""Plants one violation at a time in a small tree and looks for its report."""

import json
import os
import pathlib
import shutil
import tempfile
import unittest

import check_layers

DOCUMENT = """
| Folder | What it is | May include |
| --- | --- | --- |
| `base/` | Ground. | (std, absl) |
| `cluster/` | Reads the environment. | base |
| `wire/` | Messages. | base |
| `link/` | The interface. | wire, base |
| `link/tcp/` | One form. | link, wire, base |
| `link/sim/` | Another form. | link, wire, base |
| `torch/` | *(planned)* libtorch. | base |
| `launch/` | Joins. | everything above |
| `testing/` | For tests. | link, base; included by tests only |

| Header | Folder | What it is |
| --- | --- | --- |
| `message.h` | wire | A message. |
| `error.h` | base | An error. |
| `torch.h` | torch | *(planned)* Modules. |
"""

HEADER = "#pragma once\n"

CLEAN = {
    "docs/architecture.md": DOCUMENT,
    "include/capstan/error.h": HEADER + "#include <string>\n",
    "include/capstan/message.h": HEADER + '#include "capstan/error.h"\n',
    "src/CMakeLists.txt": "add_subdirectory(base)\n",
    "src/base/CMakeLists.txt": "capstan_layer(base SOURCES clock.cc)\n",
    "src/base/clock.h": HEADER + "#include <sys/time.h>\n",
    "src/base/clock.cc": '#include "base/clock.h"\n'
                         '#include "absl/status/status.h"\n'
                         '// Never calls getenv, nor #include "wire/frame.h".\n'
                         '/*\n#include "wire/frame.h"\n*/\n',
    "src/base/clock_test.cc": '#include "base/clock.h"\n'
                              '#include "testing/matchers.h"\n'
                              "#include <gtest/gtest.h>\n",
    "src/cluster/env.cc": 'auto x = std::getenv("TF_CONFIG");\n',
    "src/wire/CMakeLists.txt": "capstan_layer(wire\n  DEPENDS base\n"
                               "  LIBRARIES capstan_asio)\n",
    "src/wire/frame.h": HEADER + '#include "base/clock.h"\n'
                        '#include "capstan/message.h"\n'
                        '#include "wire/generated.pb.h"\n',
    "src/link/link.h": HEADER + '#include "wire/frame.h"\n',
    "src/link/testdata/golden.bin": "",
    "src/link/link_test.h": HEADER + '#include "testing/matchers.h"\n',
    "src/link/tcp/tcp.h": HEADER + '#include "link/link.h"\n',
    "src/link/tcp/tcp_test.cc": '#include "link/link_test.h"\n',
    "src/link/sim/sim.h": HEADER + '#include "link/link.h"\n',
    "src/launch/run.cc": '#include "link/tcp/tcp.h"\n',
    "src/testing/matchers.h": HEADER + '#include "link/sim/sim.h"\n',
}


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in CLEAN.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def append(self, name, text):
        path = self.root / name
        self.write(name, (path.read_text() if path.exists() else "") + text)

    def edit_document(self, old, new):
        self.assertIn(old, DOCUMENT)
        self.write("docs/architecture.md", DOCUMENT.replace(old, new))

    def found(self, build=None):
        checker = check_layers.Checker(self.root)
        checker.check()
        if build:
            checker.check_compile(build, jobs=2)
        return sorted(str(problem) for problem in checker.problems)

    def expect(self, *expected):
        """Exactly these findings, each given by a regular expression."""
        found = self.found()
        self.assertEqual(len(found), len(expected), found)
        for line, pattern in zip(found, expected):
            self.assertRegex(line, pattern)

    def test_clean_tree_passes(self):
        self.expect()

    def test_include_that_points_up(self):
        self.append("src/base/clock.cc", '#include "wire/frame.h"\n')
        self.expect(r"^src/base/clock\.cc:7: base/ may not include wire/")

    def test_include_that_points_up_by_a_relative_path(self):
        self.append("src/base/clock.cc", '#include "../wire/frame.h"\n')
        self.expect(r"^src/base/clock\.cc:7: base/ may not include wire/")

    def test_include_that_points_up_to_a_generated_header(self):
        self.append("src/base/clock.cc", "#include <wire/generated.h>\n")
        self.expect(r"^src/base/clock\.cc:7: base/ may not include wire/")

    def test_include_of_a_folder_above_that_is_not_allowed(self):
        self.append("src/wire/frame.h", '#include "cluster/env.h"\n')
        self.expect(r"^src/wire/frame\.h:5: wire/ may not include cluster/")

    def test_include_of_a_sibling(self):
        self.append("src/link/sim/sim.h", '#include "link/tcp/tcp.h"\n')
        self.expect(r"^src/link/sim/sim\.h:3: link/sim/ may not include "
                    r"link/tcp/")

    def test_interface_that_includes_an_implementation(self):
        self.append("src/link/link.h", '#include "link/tcp/tcp.h"\n')
        self.expect(r"^src/link/link\.h:3: link/ may not include link/tcp/",
                    r"^src/link/tcp/tcp\.h:2: closes a cycle")

    def test_folder_that_is_named_stands_for_those_in_it(self):
        self.edit_document("| Joins. | everything above |", "| Joins. | link |")
        self.expect()

    def test_public_header_counts_as_its_folder(self):
        self.append("src/base/clock.h", "#include <capstan/message.h>\n")
        self.expect(r"^src/base/clock\.h:3: base/ may not include wire/")

    def test_unit_test_that_points_up(self):
        self.append("src/base/clock_test.cc", '#include "wire/frame.h"\n')
        self.expect(r"^src/base/clock_test\.cc:4: base/ may not include wire/")

    def test_cycle_in_the_table(self):
        self.edit_document("| Ground. | (std, absl)", "| Ground. | wire")
        self.expect(r"^docs/architecture\.md:4: cycle between base/ and wire/")

    def test_table_that_points_down(self):
        self.edit_document("Reads the environment. | base",
                           "Reads the environment. | base, wire")
        self.expect(r"^docs/architecture\.md:5: cluster/ may include wire/ "
                    "below it")

    def test_table_with_an_unknown_name(self):
        self.edit_document("| Messages. | base", "| Messages. | bass, base")
        self.expect(r"^docs/architecture\.md:6: wire/ may include bass/, not")

    def test_document_without_a_table(self):
        self.write("docs/architecture.md", "# Nothing\n")
        self.assertIn("docs/architecture.md:1: has no folder table",
                      self.found())

    def test_cycle_of_headers(self):
        self.append("src/base/clock.h", '#include "base/timer.h"\n')
        self.write("src/base/timer.h", HEADER + '#include "base/clock.h"\n')
        self.expect(r"^src/base/timer\.h:2: closes a cycle of headers with "
                    r"src/base/clock\.h")

    def test_unlisted_folder(self):
        self.write("src/misc/a.cc", "")
        self.expect(r"^src/misc:1: folder not listed")

    def test_unlisted_subfolder(self):
        self.write("src/link/rdma/a.cc", "")
        self.expect(r"^src/link/rdma:1: folder not listed")

    def test_file_in_no_folder(self):
        self.write("src/main.cc", "")
        self.expect(r"^src/main\.cc:1: is in no folder")

    def test_crowded_folder(self):
        for i in range(51):
            self.write(f"src/launch/part{i}.cc", "")
        self.expect(r"^src/launch:1: 52 files; at most 50")

    def test_type_name_used_twice(self):
        self.append("src/base/clock.h", "class Clock final : public Time {\n"
                    "  struct State {};\n};\nstruct Forward;\n")
        self.append("src/wire/frame.h", "namespace wire {\nstruct Forward {};\n"
                    "struct Clock {\n  struct State {};\n};\n}\n")
        self.expect(r"^src/wire/frame\.h:7: Clock is also the name of a type in "
                    r"src/base/clock\.h")

    def test_type_of_a_class_is_no_name_used_twice(self):
        self.append("src/base/clock.h", "struct Clock::Impl {\n};\n")
        self.append("src/wire/frame.h", "struct Clock {\n};\n")
        self.expect()

    def test_include_in_a_raw_string(self):
        self.append("src/base/clock.cc",
                    'char text[] = R"(\n#include "launch/run.h"\n)";\n')
        self.expect()

    def test_banned_folder_names(self):
        for name in ("common", "util", "core", "internal"):
            with self.subTest(name):
                self.write(f"src/base/{name}/a.cc", "")
                self.expect(rf"^src/base/{name}:1: a folder must not be named")
                shutil.rmtree(self.root / "src/base" / name)

    def test_listed_folder_that_is_missing(self):
        shutil.rmtree(self.root / "src/launch")
        self.expect(r"^docs/architecture\.md:11: src/launch does not exist")

    def test_planned_folder_that_exists(self):
        self.write("src/torch/step.cc", "")
        self.expect(r"^docs/architecture\.md:10: src/torch exists but is "
                    "marked planned")

    def test_public_header_that_includes_a_private_one(self):
        self.append("include/capstan/error.h", '#include "base/clock.h"\n')
        self.expect(r"^include/capstan/error\.h:3: public header includes "
                    r"private base/clock\.h")

    def test_public_header_that_includes_a_library(self):
        for name in ("absl/status/status.h", "asio/buffer.hpp",
                     "spdlog/spdlog.h", "unistd.h"):
            with self.subTest(name):
                self.write("include/capstan/error.h",
                           HEADER + f"#include <{name}>\n")
                self.expect(r"^include/capstan/error\.h:2: public header "
                            f"includes {name}")

    def test_public_header_that_points_up(self):
        self.write("include/capstan/message.h", HEADER)
        self.append("include/capstan/error.h",
                    '#include "capstan/message.h"\n')
        self.expect(r"^include/capstan/error\.h:3: base/ may not include wire/")

    def test_unlisted_public_header(self):
        self.write("include/capstan/extra.h", HEADER)
        self.expect(r"^include/capstan/extra\.h:1: public header not listed")

    def test_missing_public_header(self):
        (self.root / "include/capstan/message.h").unlink()
        self.write("src/wire/frame.h", HEADER)
        self.expect(r"architecture\.md:16: include/capstan/message\.h does not")

    def test_public_header_owned_by_an_unknown_folder(self):
        self.edit_document("`error.h` | base", "`error.h` | bass")
        self.assertIn("docs/architecture.md:17: bass/ is not listed",
                      self.found())

    def test_too_many_public_headers(self):
        rows = "".join(f"| `h{i}.h` | base | *(planned)* |\n"
                       for i in range(18))
        self.append("docs/architecture.md", rows)
        self.expect(r"architecture\.md:1: 21 public headers, at most 20")

    def test_production_code_that_includes_test_code(self):
        self.append("src/launch/run.cc", '#include "testing/matchers.h"\n'
                    '#include "link/link_test.h"\n')
        self.expect(r"^src/launch/run\.cc:2: production code includes testing/",
                    r"^src/launch/run\.cc:3: production code includes link/")

    def test_getenv(self):
        self.append("src/wire/frame.cc", 'auto x = getenv("HOME");\n')
        self.expect(r"^src/wire/frame\.cc:1: getenv outside")

    def test_header_without_pragma_once(self):
        self.write("src/base/bare.h", "// #pragma once\n")
        self.expect(r"^src/base/bare\.h:1: header without #pragma once")

    def test_libtorch(self):
        for name in ("torch/torch.h", "ATen/ATen.h", "c10/util/Half.h"):
            with self.subTest(name):
                self.write("src/launch/run.cc", f"#include <{name}>\n")
                self.expect(r"^src/launch/run\.cc:1: libtorch")

    def test_protobuf(self):
        self.append("src/link/link.h", '#include "wire/generated.pb.h"\n')
        self.expect(r"^src/link/link\.h:3: protobuf")

    def test_library_that_the_table_does_not_allow(self):
        self.append("src/base/clock.cc", "#include <asio/buffer.hpp>\n")
        self.expect(r"^src/base/clock\.cc:7: base/ may not use asio")

    def test_cmake_dependency_that_points_up(self):
        self.write("src/base/CMakeLists.txt",
                   "\ncapstan_layer(base SOURCES a.cc DEPENDS wire)\n")
        self.expect(r"^src/base/CMakeLists\.txt:2: base/ may not depend on "
                    "wire")

    def test_cmake_library_that_points_up(self):
        self.write("src/base/CMakeLists.txt",
                   "capstan_layer(base LIBRARIES absl::status capstan_wire)\n")
        self.expect(r"^src/base/CMakeLists\.txt:1: base/ may not depend on "
                    "wire")

    def test_cmake_layer_of_another_folder(self):
        self.write("src/base/CMakeLists.txt", "capstan_layer(wire)\n")
        self.expect(r"^src/base/CMakeLists\.txt:1: layer wire is not this")

    def write_commands(self, name, flags=""):
        build = self.root / "build"
        source = self.root / name
        self.write("build/compile_commands.json", json.dumps([{
            "directory": str(build), "file": str(source),
            "command": f"c++ -Werror -I{self.root}/src -I{self.root}/include "
                       f"{flags} -MD -o source.o -c {source}"}]))
        # A cache could hold nothing of use, and should hold nothing of this.
        os.environ["CCACHE_DISABLE"] = "1"
        return build

    def expect_broken_guard(self, build):
        found = self.found(build)
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], r"^src/base/guard\.h:1: does not compile "
                         r"alone: src/base/guard\.h:2:\d+: error: ")

    @unittest.skipUnless(shutil.which("c++"), "needs a compiler")
    def test_header_that_does_not_compile_alone(self):
        self.write("src/wire/generated.pb.h", HEADER)
        self.write("src/base/guard.h", HEADER + "std::string text;\n")
        self.expect_broken_guard(self.write_commands("src/base/clock.cc"))

    @unittest.skipUnless(shutil.which("c++"), "needs a compiler")
    def test_header_that_the_build_has_compiled_alone(self):
        self.write("src/wire/generated.pb.h", HEADER)
        self.write("src/base/guard.h", HEADER + "std::string text;\n")
        self.write("src/base/guard.cc", '// Why.\n#include "base/guard.h"\n')
        build = self.write_commands("src/base/guard.cc")
        self.expect_broken_guard(build)  # Not built yet.
        self.write("build/source.o", "")
        header = self.root / "src/base/guard.h"
        os.utime(header, (1, 1))
        self.assertEqual(self.found(build), [])
        os.utime(header)  # Changed since.
        os.utime(build / "source.o", (1, 1))
        self.expect_broken_guard(build)
        os.utime(header, (0, 0))
        self.write_commands("src/base/guard.cc", "-include all.h")
        self.expect_broken_guard(build)  # With more than the header alone.


if __name__ == "__main__":
    unittest.main()
