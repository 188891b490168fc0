#!/usr/bin/env python3
"""Lists what differs from a commit: committed since, changed, or new.

    tools/changed_files.py [--since COMMIT | --all] [--sources BUILD_DIR]

COMMIT is by default the one at which HEAD left origin/main; HEAD itself if
there is no such branch. With --sources, prints sources of that build instead:
those that changed and those that include a header which did; or all of them.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import ninja_graph

ROOT = ninja_graph.ROOT
MAIN = "refs/remotes/origin/main"
HEADERS = {".h", ".inc"}  # .inc: what is included more than once


class ChangeError(Exception):
    """Why it cannot be said what has changed, in one line."""


def git(root, *words):
    """Standard output; None if git fails."""
    try:
        done = subprocess.run(["git", "-C", root, *words], text=True,
                              capture_output=True, check=False)
    except FileNotFoundError:
        raise ChangeError("git is not installed: run tools/setup") from None
    return done.stdout if done.returncode == 0 else None


def base(since=None, root=ROOT):
    """The commit that changes are counted from."""
    if since is None:
        since = (git(root, "merge-base", MAIN, "HEAD") or "HEAD").strip()
    commit = git(root, "rev-parse", "--quiet", "--verify", "--end-of-options",
                 f"{since}^{{commit}}")
    if commit is None:
        raise ChangeError(f"git knows no commit {since!r}")
    return commit.strip()


def changed_files(commit, root=ROOT):
    """Names relative to `root`. Both names of a file that was renamed."""
    found = set()
    for words in (["diff", "--no-renames", "--name-only", "--relative", commit],
                  ["ls-files", "--others", "--exclude-standard"]):
        names = git(root, *words, "-z")
        if names is None:
            raise ChangeError(f"git {words[0]} failed")
        found.update(name for name in names.split("\0") if name)
    return found


def compiled_sources(build, root=ROOT):
    """The sources of the tree that a build compiles."""
    try:
        entries = json.loads((build / "compile_commands.json").read_text())
    except OSError as error:
        raise ninja_graph.BuildError(f"{build}: {error.strerror}") from None
    root = os.path.realpath(root)
    build = os.path.relpath(os.path.realpath(build), root)
    names = {os.path.relpath(os.path.realpath(entry["file"]), root)
             for entry in entries}
    return {name for name in names
            if not name.startswith(("../", build + os.sep))}


def sources_to_check(changed, compiled, deps):
    """Those of `compiled` that a change concerns. `deps`: as of tree_deps."""
    if ".clang-tidy" in changed:
        return compiled
    found = compiled & changed
    headers = {name for name in changed
               if pathlib.PurePath(name).suffix in HEADERS}
    if headers:
        known = set().union(*deps.values())
        found |= compiled - known  # of which nobody knows what they include
        for files in deps.values():
            if files & headers:
                found |= files & compiled
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--since", metavar="COMMIT")
    which.add_argument("--all", action="store_true")
    parser.add_argument("--sources", metavar="BUILD_DIR", type=pathlib.Path)
    args = parser.parse_args()
    if args.all and not args.sources:
        parser.error("--all needs --sources")
    try:
        if args.all:
            names = compiled_sources(args.sources)
        else:
            names = changed_files(base(args.since))
            if args.sources:
                names = sources_to_check(
                    names, compiled_sources(args.sources),
                    ninja_graph.tree_deps(
                        args.sources, ninja_graph.ask(args.sources, "deps")))
    except (ChangeError, ninja_graph.BuildError) as error:
        print(f"tools/changed_files.py: {error}", file=sys.stderr)
        return 2
    sys.stdout.write("".join(f"{name}\n" for name in sorted(names)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
