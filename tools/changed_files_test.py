#!/usr/bin/env python3
"""Tests tools/changed_files.py on a small repository, and on deps made up."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import changed_files
import ninja_graph


class RepositoryTest(unittest.TestCase):
    """A commit "upstream", and a branch that leaves it."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith("GIT_")}
        clean["GIT_CEILING_DIRECTORIES"] = str(self.root.parent)
        patch = mock.patch.dict(os.environ, clean, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        self.git("init", "--quiet", "--initial-branch=main")
        for name in ("kept.cc", "changed.cc", "renamed.h", "deleted.h"):
            self.write(name, f"{name}\n")
        self.write(".gitignore", "build/\n")
        self.upstream = self.commit()

    def git(self, *words):
        done = subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@example.com",
             "-c", "commit.gpgSign=false", "-C", self.root, *words],
            check=True, text=True, capture_output=True)
        return done.stdout.strip()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=x")
        return self.git("rev-parse", "HEAD")

    def set_main(self, commit):
        self.git("update-ref", changed_files.MAIN, commit)

    def test_base_without_a_main_branch_is_head(self):
        head = self.commit()
        self.assertEqual(changed_files.base(root=self.root), head)

    def test_base_is_where_head_left_main(self):
        self.write("theirs.cc", "")
        self.set_main(self.commit())
        self.git("checkout", "--quiet", "-b", "mine", self.upstream)
        self.write("mine.cc", "")
        self.commit()
        self.assertEqual(changed_files.base(root=self.root), self.upstream)

    def test_base_is_head_if_main_has_it(self):
        self.set_main(self.commit())
        self.assertEqual(changed_files.base(root=self.root),
                         self.git("rev-parse", "HEAD"))

    def test_base_that_is_given(self):
        self.commit()
        self.assertEqual(changed_files.base("HEAD~1", self.root), self.upstream)

    def test_base_that_is_no_commit(self):
        for name in ("nonsense", "--all", "HEAD:kept.cc"):
            with self.assertRaisesRegex(changed_files.ChangeError,
                                        f"git knows no commit '{name}'"):
                changed_files.base(name, self.root)

    def test_committed_changed_and_new_files_count(self):
        self.write("changed.cc", "differs\n")
        self.git("mv", "renamed.h", "new name.h")
        self.commit()
        (self.root / "deleted.h").unlink()
        self.write("src/new.cc", "")
        self.write("build/ignored.cc", "")
        self.assertEqual(
            changed_files.changed_files(self.upstream, self.root),
            {"changed.cc", "renamed.h", "new name.h", "deleted.h",
             "src/new.cc"})

    def test_nothing_changed(self):
        self.assertEqual(changed_files.changed_files(self.upstream, self.root),
                         set())

    def test_no_repository(self):
        shutil.rmtree(self.root / ".git")
        with self.assertRaises(changed_files.ChangeError):
            changed_files.base(root=self.root)

    def test_compiled_sources(self):
        build = self.root / "build" / "clang"
        os.makedirs(build)
        names = [self.root / "src/a.cc", build / "link_test/a.cc",
                 "/usr/src/gtest.cc"]
        (build / "compile_commands.json").write_text(
            json.dumps([{"file": str(name)} for name in names]))
        self.assertEqual(changed_files.compiled_sources(build, self.root),
                         {"src/a.cc"})
        with self.assertRaises(ninja_graph.BuildError):
            changed_files.compiled_sources(self.root, self.root)


class SourcesToCheckTest(unittest.TestCase):
    COMPILED = {"src/a.cc", "src/b.cc", "src/never_built.cc"}
    # Relative to the build as ccache has them, or absolute.
    DEPS = """\
src/CMakeFiles/a.dir/a.cc.o: #deps 4, deps mtime 1 (VALID)
    ../../src/a.cc
    {root}/src/a.h
    src/generated.h
    /usr/include/string.h

src/CMakeFiles/b.dir/b.cc.o: #deps 3, deps mtime 1 (STALE)
    ../../src/b.cc
    ../../src/b.h
    ../../src/a.h

"""

    def check(self, *changed):
        root = "/nowhere/tree"
        deps = ninja_graph.tree_deps(f"{root}/build/clang",
                                     self.DEPS.format(root=root), root)
        return changed_files.sources_to_check(set(changed), self.COMPILED, deps)

    def test_source(self):
        self.assertEqual(self.check("src/a.cc", "docs/a.md"), {"src/a.cc"})

    def test_header_of_one(self):
        self.assertEqual(self.check("src/b.h"),
                         {"src/b.cc", "src/never_built.cc"})

    def test_header_of_both(self):
        self.assertEqual(self.check("src/a.h"), self.COMPILED)

    def test_header_that_nothing_includes(self):
        self.assertEqual(self.check("src/c.h"), {"src/never_built.cc"})

    def test_other_files(self):
        self.assertEqual(self.check("README.md", "src/CMakeLists.txt"), set())

    def test_rules_of_clang_tidy(self):
        self.assertEqual(self.check(".clang-tidy"), self.COMPILED)


if __name__ == "__main__":
    unittest.main()
