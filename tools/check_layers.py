#!/usr/bin/env python3
"""Checks the tree against the tables in docs/architecture.md.

    tools/check_layers.py [--root DIR] [--compile BUILD_DIR] [--jobs N]

The rules are those of the document: which folder may include which, no cycle,
no unlisted or crowded folder, no type name used twice, self-contained public
headers, test code in tests only, getenv, libtorch and protobuf where they
belong, CMake dependencies as in the table.
With --compile, each header must also compile alone. A build that compiles each
file by itself (the preset `clang`) has shown that for a header which a source
file includes first; the others are compiled here, with the flags of a source
file near them. Findings are printed as "path:line: message"; the exit code is 1
if there are any.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

DOCUMENT = "docs/architecture.md"
FOLDER_TABLE = ["Folder", "What it is", "May include"]
HEADER_TABLE = ["Header", "Folder", "What it is"]
PLANNED = "*(planned)*"
MAX_PUBLIC_HEADERS = 20
MAX_FILES = 50  # In a folder.
BANNED_FOLDERS = {"common", "core", "internal", "util", "utils"}
TEST_DATA = "testdata"  # What tests read; beside them, in any folder.
GETENV_FOLDERS = {"cluster", "cli"}
LIBTORCH = {"ATen", "c10", "torch"}
SYSTEM = {"arpa", "linux", "net", "netinet", "sys"}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
GETENV = re.compile(r"\b(?:secure_)?getenv\b")
# At the start of a line, so in no class; an attribute may come first.
TYPE = re.compile(r"^(?:class|struct|union|enum class|enum)\s+"
                  r"(?:\[\[\w+\]\]\s+|[A-Z_]+\s+)?(\w+)\s*(?:final\s*)?"
                  r"(?::[^:;{][^;{]*)?\{", re.MULTILINE)
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


@dataclasses.dataclass(frozen=True, order=True)
class Problem:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


@dataclasses.dataclass
class Folder:
    """One row of the folder table."""
    name: str
    line: int
    planned: bool
    may_include: set
    tests_only: bool
    externals: set  # Empty: not restricted.

    def may_use(self, name):
        """A folder that is named stands for those in it, too, but not for the
        neighbours of one of those."""
        return name in self.may_include or any(
            name.startswith(allowed + "/")
            and not self.name.startswith(allowed + "/")
            for allowed in self.may_include)


def read_table(lines, header):
    """Yields (line number, cells) of the table that has this header."""
    inside = False
    for number, line in enumerate(lines, start=1):
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == header:
            inside = True
        elif inside and not re.fullmatch(r"[-: ]+", cells[0]):
            yield number, cells


def read_folders(lines):
    folders = {}
    for number, cells in read_table(lines, FOLDER_TABLE):
        name = cells[0].strip("`").rstrip("/")
        names = cells[2].partition(";")[0]
        externals = set()
        if names.startswith("("):
            externals = set(re.findall(r"[\w-]+", names))
            may_include = set()
        elif names.startswith("everything"):
            may_include = set(folders)
        else:
            may_include = {part.strip(" `/") for part in names.split(",")}
        folders[name] = Folder(
            name, number, PLANNED in cells[1], may_include,
            "tests only" in cells[2], externals)
    return folders


def without_comments(text):
    """The text without comments and raw strings, each line where it was."""
    def blank(match):
        found = match.group(0)
        return found if found[0] == '"' else "\n" * found.count("\n")
    return COMMENT_OR_STRING.sub(blank, text)


class Checker:
    def __init__(self, root):
        self.root = root.resolve()
        self.src = self.root / "src"
        self.public = self.root / "include"
        self.problems = []
        lines = (self.root / DOCUMENT).read_text().splitlines()
        self.folders = read_folders(lines)
        # Public header -> (line in the document, owner, planned).
        self.owners = {
            "capstan/" + cells[0].strip("`"):
                (number, cells[1].strip("`/"), PLANNED in cells[2])
            for number, cells in read_table(lines, HEADER_TABLE)}
        self.files = sorted(
            path for top in (self.src, self.public) for path in top.rglob("*")
            if path.suffix in (".h", ".cc"))
        self.edges = {}  # Header -> [(line, header it includes)].

    def report(self, path, line, message):
        if isinstance(path, pathlib.Path):
            path = path.relative_to(self.root).as_posix()
        self.problems.append(Problem(path, line, message))

    def check(self):
        if not self.folders:
            self.report(DOCUMENT, 1, "has no folder table")
        self.check_table()
        self.check_folders()
        self.check_public_headers()
        for path in self.files:
            self.check_file(path)
        for path in sorted(self.src.rglob("CMakeLists.txt")):
            self.check_cmake(path)
        self.check_header_cycles()
        self.check_type_names()

    # The table itself.

    def check_table(self):
        above = set()
        for folder in self.folders.values():
            for name in sorted(folder.may_include - above):
                if name not in self.folders:
                    message = f"{folder.name}/ may include {name}/, not listed"
                elif self.reaches(name, folder.name):
                    message = f"cycle between {folder.name}/ and {name}/"
                else:
                    message = f"{folder.name}/ may include {name}/ below it"
                self.report(DOCUMENT, folder.line, message)
            above.add(folder.name)

    def reaches(self, start, goal):
        seen, todo = set(), [start]
        while todo:
            name = todo.pop()
            if name == goal:
                return True
            if name not in seen and name in self.folders:
                seen.add(name)
                todo.extend(self.folders[name].may_include)
        return False

    # The folders and the public headers.

    def check_folders(self):
        for path in sorted(self.src.rglob("*")):
            if not path.is_dir() or path.name == TEST_DATA:
                continue
            name = path.relative_to(self.src).as_posix()
            if path.name in BANNED_FOLDERS:
                self.report(path, 1, f"a folder must not be named {path.name}")
            elif name not in self.folders:
                self.report(path, 1, f"folder not listed in {DOCUMENT}")
            files = sum(file.suffix in (".h", ".cc") for file in path.iterdir())
            if files > MAX_FILES:
                self.report(path, 1, f"{files} files; at most {MAX_FILES}: "
                            "split the folder")
        for folder in self.folders.values():
            self.check_planned(folder.line, self.src / folder.name,
                               folder.planned)

    def check_planned(self, line, path, planned):
        if path.exists() == planned:
            name = path.relative_to(self.root).as_posix()
            self.report(DOCUMENT, line, f"{name} exists but is marked planned"
                        if planned else f"{name} does not exist")

    def check_public_headers(self):
        for header, (line, owner, planned) in self.owners.items():
            self.check_planned(line, self.public / header, planned)
            if owner not in self.folders:
                self.report(DOCUMENT, line, f"{owner}/ is not listed")
        if len(self.owners) > MAX_PUBLIC_HEADERS:
            self.report(DOCUMENT, 1, f"{len(self.owners)} public headers, at "
                        f"most {MAX_PUBLIC_HEADERS}")

    # One file.

    def folder_of(self, path):
        """The folder that owns a file, or None."""
        if path.is_relative_to(self.public):
            owner = self.owners.get(path.relative_to(self.public).as_posix())
            return self.folders.get(owner[1]) if owner else None
        name = path.relative_to(self.src).parent.as_posix()
        return self.folders.get(name)

    def is_test(self, path):
        folder = self.folder_of(path)
        return path.stem.endswith("_test") or (
            folder is not None and folder.tests_only)

    def resolve(self, path, include):
        """The file of this tree that an include names, or None."""
        for base in (self.src, self.public, path.parent):
            target = (base / include).resolve()
            if target.exists() and (target.is_relative_to(self.src) or
                                    target.is_relative_to(self.public)):
                return target
        # Not there: generated into the build tree, or of another project.
        folder = pathlib.PurePosixPath(include).parent.as_posix()
        if folder in self.folders and folder not in LIBTORCH:
            return self.src / include
        return None

    def check_file(self, path):
        folder = self.folder_of(path)
        if folder is None:
            if path.is_relative_to(self.public):
                self.report(path, 1, f"public header not listed in {DOCUMENT}")
            elif path.parent == self.src:
                self.report(path, 1, "is in no folder")
            return
        text = without_comments(path.read_text())
        if path.suffix == ".h" and "#pragma once" not in text:
            self.report(path, 1, "header without #pragma once")
        for number, line in enumerate(text.splitlines(), start=1):
            if GETENV.search(line) and folder.name not in GETENV_FOLDERS:
                self.report(path, number, "getenv outside cluster/ and cli/")
            match = INCLUDE.match(line)
            if match:
                self.check_include(path, number, folder, match.group(1))

    def check_include(self, path, line, folder, include):
        if include.endswith(".pb.h") and folder.name != "wire":
            self.report(path, line, f"protobuf ({include}) outside wire/")
            return
        target = self.resolve(path, include)
        if target is None:
            self.check_external(path, line, folder, include)
            return
        self.edges.setdefault(path, []).append((line, target))
        in_public = path.is_relative_to(self.public)
        if in_public and not target.is_relative_to(self.public):
            self.report(path, line,
                        f"public header includes private {include}")
            return
        owner = self.folder_of(target)
        if owner is None:
            return  # An unlisted folder or header, which is reported already.
        if self.is_test(path):
            if owner.tests_only:
                return
        elif self.is_test(target):
            self.report(path, line, f"production code includes {include}, "
                        "which is for tests only")
            return
        if target.is_relative_to(self.public) and folder.name.startswith(
                owner.name + "/"):
            return  # What the folder is for.
        if owner is not folder and not folder.may_use(owner.name):
            self.report(path, line, f"{folder.name}/ may not include "
                        f"{owner.name}/ ({include})")

    def check_external(self, path, line, folder, include):
        top = include.split("/")[0] if "/" in include else None
        if top in LIBTORCH:
            if folder.name != "torch":
                self.report(path, line, f"libtorch ({include}) outside torch/")
        elif path.is_relative_to(self.public):
            if "/" in include or include.endswith((".h", ".hpp")):
                self.report(path, line, f"public header includes {include}; "
                            "only the standard library is allowed")
        elif (folder.externals and top and top not in folder.externals
              and top not in SYSTEM and not self.is_test(path)):
            self.report(path, line, f"{folder.name}/ may not use {top} "
                        f"({include})")

    def check_header_cycles(self):
        """Reports each include that closes a circle of headers."""
        state = {}  # Absent: not visited; True: on the path; False: done.

        def visit(path):
            state[path] = True
            for line, target in self.edges.get(path, []):
                if state.get(target):
                    self.report(path, line, "closes a cycle of headers with "
                                + target.relative_to(self.root).as_posix())
                elif target not in state:
                    visit(target)
            state[path] = False

        for path in self.files:
            if path not in state:
                visit(path)

    def check_type_names(self):
        """Reports a type whose name another header gives to another type."""
        seen = {}
        for path in self.files:
            if path.suffix != ".h":
                continue
            text = without_comments(path.read_text())
            for match in TYPE.finditer(text):
                name = match.group(1)
                line = text[:match.start()].count("\n") + 1
                if name in seen:
                    self.report(path, line, f"{name} is also the name of a "
                                f"type in {seen[name]}")
                else:
                    seen[name] = path.relative_to(self.root).as_posix()

    # CMake.

    def check_cmake(self, path):
        """DEPENDS and LIBRARIES of each capstan_layer() are as allowed."""
        text = re.sub(r"#[^\n]*", "", path.read_text())
        for call in re.finditer(r"capstan_layer\(([^)]*)\)", text):
            first = text[:call.start()].count("\n") + 1
            words = call.group(1).split()
            by_name = {name.replace("/", "_"): folder
                       for name, folder in self.folders.items()}
            folder = by_name.get(words[0])
            if folder is None or path.parent not in (
                    self.src / folder.name, *(self.src / folder.name).parents):
                self.report(path, first, f"layer {words[0]} is not this folder")
                continue
            allowed = {name.replace("/", "_") for name in self.folders
                       if folder.may_use(name)}
            keyword = None
            for word in words[1:]:
                if word.isupper():
                    keyword = word
                    continue
                name = word.removeprefix("capstan_").removeprefix("capstan::")
                if (keyword == "DEPENDS" or
                        keyword == "LIBRARIES" and name != word
                        and name in by_name) and name not in allowed:
                    self.report(path, first, f"{folder.name}/ may not depend "
                                f"on {name}")

    # Each header alone.

    def check_compile(self, build, jobs):
        commands = read_commands(build)
        shown = self.compiled_first(commands)
        headers = [path for path in self.files
                   if path.suffix == ".h" and path not in shown]
        scratch = build.resolve() / "headers"
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for path, error in zip(headers, pool.map(
                    lambda path: self.compile(path, commands, scratch),
                    headers)):
                if error:
                    self.report(path, 1, f"does not compile alone: {error}")

    def compiled_first(self, commands):
        """The headers that a built source file includes before all else."""
        shown = set()
        for command in commands:
            source, output = command["file"], command["output"]
            if command["precompiled"] or not output.exists():
                continue
            text = without_comments(source.read_text())
            match = INCLUDE.search(text)
            header = match and self.resolve(source, match.group(1))
            if (header and header.exists() and
                    output.stat().st_mtime > header.stat().st_mtime):
                shown.add(header)
        return shown

    def compile(self, path, commands, scratch):
        """Compiles a file that only includes `path`; the first error."""
        folder = self.folder_of(path)
        near = self.src / folder.name if folder else self.src
        command = nearest_command(
            commands, near, path.stem.endswith("_test"))
        if command is None:
            return "no compile command to borrow"
        top = self.public if path.is_relative_to(self.public) else self.src
        include = path.relative_to(top).as_posix()
        # A file of its own, since a header as main file warns of its
        # #pragma once; an object file, since only those are cached by ccache.
        source = scratch / (include.replace("/", "_") + ".cc")
        source.parent.mkdir(parents=True, exist_ok=True)
        content = f'#include "{include}"\n'
        if not source.exists() or source.read_text() != content:
            source.write_text(content)
        ccache = shutil.which("ccache")
        result = subprocess.run(
            [*([ccache] if ccache else []), *command["flags"],
             "-o", source.with_suffix(".o"), "-c", source],
            cwd=command["directory"], capture_output=True, text=True)
        if result.returncode == 0:
            return None
        output = result.stderr.replace(f"{self.root}/", "")
        lines = output.splitlines() or ["compiler failed"]
        return next((line for line in lines if "error" in line), lines[0])


def read_commands(build):
    """The compile commands of a build: flags, and input and output apart."""
    commands = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        directory = pathlib.Path(entry["directory"])
        command = {"file": pathlib.Path(entry["file"]), "flags": [],
                   "directory": directory, "precompiled": False}
        words = iter(shlex.split(entry["command"]))
        for word in words:
            if word == "-o":
                command["output"] = directory / next(words)
            elif word == "-include":
                command["precompiled"] = True
                next(words)
            elif word in ("-c", "-MT", "-MF"):
                next(words)
            elif word not in ("-MD", "-Winvalid-pch"):
                command["flags"].append(word)
        commands.append(command)
    return commands


def nearest_command(commands, folder, test):
    """The command of a file in `folder`, or else in one that encloses it."""
    for place in (folder, *folder.parents):
        found = [command for command in commands
                 if command["file"].is_relative_to(place)]
        if found:
            return next((command for command in found if test ==
                         command["file"].stem.endswith("_test")), found[0])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("--compile", type=pathlib.Path, metavar="BUILD_DIR")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    checker = Checker(args.root)
    checker.check()
    if args.compile:
        checker.check_compile(args.compile, args.jobs)
    for problem in sorted(set(checker.problems)):
        print(problem)
    print(f"{len(checker.files)} files, {len(checker.problems)} problems",
          file=sys.stderr)
    return 1 if checker.problems else 0


if __name__ == "__main__":
    sys.exit(main())
