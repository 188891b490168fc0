"""Which test programs a change can affect, by what Ninja knows of a build."""

import pathlib

import ninja_graph

# A change of one of these, or under cmake/, can affect every test.
EVERYTHING = {"CMakeLists.txt", "CMakePresets.json",
              "tools/tsan_suppressions.txt"}
# What tests are made of, and read.
FOLDERS = ("src/", "include/", "tests/", "fuzz/")
# Known for each object; and what no test program reads.
COMPILED = {".cc", ".h", ".inc"}
NEVER_READ = {".md", ".py"}


def below(place, folders):
    """The objects at `place`, or at the nearest folder above that has some."""
    while True:
        found = {output for output, name in folders.items()
                 if not place or f"{name}/".startswith(f"{place}/")}
        if found or not place:
            return found
        place = place.rpartition("/")[0]


def affected_objects(changed, deps):
    """Those objects of `deps` (of tree_deps) that are made from what changed.
    Other files than sources, such as a CMakeLists.txt, a .proto or a golden
    file, affect all objects of their folder."""
    folders = {output: ninja_graph.folder(output) or "" for output in deps}
    found = set()
    for path in changed:
        suffix = pathlib.PurePath(path).suffix
        if path in EVERYTHING or path.startswith("cmake/"):
            return set(deps)
        if suffix in COMPILED:
            found |= {output for output, files in deps.items() if path in files}
        elif path.startswith(FOLDERS) and suffix not in NEVER_READ:
            found |= below(path.rpartition("/")[0], folders)
    return found


def test_programs(rules):
    """Names of the GoogleTest programs and the replays of the fuzzers' corpora
    among `rules` (of parse_targets)."""
    names = {output.removeprefix("bin/") for output, rule in rules.items()
             if output.startswith("bin/") and "EXECUTABLE_LINKER__" in rule}
    return {name for name in names if name.startswith("replay_") or (
        name.endswith("_test") and not name.endswith("_link_test"))}


def unaffected_programs(build, changed):
    """Those that no changed file goes into, neither directly nor by a library.
    The build must be up to date: then it is known what each object includes."""
    deps = ninja_graph.tree_deps(build, ninja_graph.ask(build, "deps"))
    objects = affected_objects(changed, deps)
    programs = test_programs(ninja_graph.parse_targets(
        ninja_graph.ask(build, "targets", "all")))
    return {name for name in programs if objects.isdisjoint(
        ninja_graph.ask(build, "inputs", f"bin/{name}").splitlines())}
