"""What Ninja knows about a build directory. Nothing here builds anything."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


class BuildError(Exception):
    """What is wrong with a build directory or its history, in one line."""


def ask(build, *words):
    """What one of Ninja's tools (ninja -t list) prints."""
    # A tool may rewrite the logs, to which a running build appends: not with
    # -n, which must come first.
    try:
        done = subprocess.run(["ninja", "-n", "-C", build, "-t", *words],
                              capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise BuildError("ninja is not installed: run tools/setup") from None
    if done.returncode != 0:
        said = (done.stderr + done.stdout).strip().splitlines()
        raise BuildError(f"{build}: {said[0] if said else 'ninja failed'}")
    return done.stdout


def parse_deps(text):
    """{object: files that it was compiled from}, of ninja -t deps."""
    deps = {}
    files = []
    for line in text.splitlines():
        if line.startswith(" "):
            files.append(line.strip())
        elif ": #deps " in line:
            files = deps.setdefault(line.rpartition(": #deps ")[0], [])
    return deps


def parse_targets(text):
    """{output: rule}, of ninja -t targets all."""
    pairs = (line.rpartition(": ") for line in text.splitlines())
    return {output: rule for output, _, rule in pairs if output}


def folder(output):
    """The folder of the CMakeLists.txt that an object belongs to, "" for the
    root's; None for what is no object."""
    before, found, _ = f"/{output}".partition("/CMakeFiles/")
    return before.strip("/") if found else None


def tree_deps(build, text, root=ROOT):
    """As parse_deps, but only files of the tree, relative to its root."""
    build = os.path.realpath(build)
    inside = os.path.realpath(root) + os.sep
    known = {}

    def relative(path):
        if path not in known:
            full = os.path.realpath(os.path.join(build, path))
            known[path] = (full[len(inside):] if full.startswith(inside)
                           and not full.startswith(build + os.sep) else None)
        return known[path]

    return {output: {relative(path) for path in files} - {None}
            for output, files in parse_deps(text).items()}
