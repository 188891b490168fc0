#!/usr/bin/env python3
"""Writes the seeds of fuzz_manifest and fuzz_shard_file:

    fuzz/make_checkpoint_corpus.py fuzz/corpus build/release/bin/formats

Of a checkpoint that `formats` writes, the manifest without its checksum and a
file, and some that are nearly so. Inputs that the fuzzer found lie beside them
under other names.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

BEGIN = '{"format": "capstan-checkpoint", "version": 1'
EMPTY = BEGIN + ', "save_id": "0000000000000000", "generation": 0, ' \
    '"step": 0, ' \
    '"round": 0, "applied_above": [], "created_unix_ms": 0, ' \
    '"capstan_version": "", "files": [], "variables": [], "records": {}'


def manifests(text):
    """Each is what comes before the checksum's line."""
    whole = text[:text.rindex(',\n  "crc32c"')]
    return {
        "small": whole,
        "empty": EMPTY,
        "newer": '{"format": "capstan-checkpoint", "version": 2, "new": [[1]]',
        "deep": BEGIN + ', "files": ' + "[" * 5000,
        "objects": BEGIN + ', "records": ' + '{"a":' * 3000,
        "twice": EMPTY + ', "step": 0',
        "negative": EMPTY.replace('"step": 0', '"step": -1'),
        "large": EMPTY.replace('"step": 0', '"step": 18446744073709551616'),
        "escapes": EMPTY.replace(
            '"records": {}', r'"records": {"\u0000\ud83d\ude00": "\n\"\\"}'),
        "surrogate": EMPTY.replace('"records": {}',
                                   r'"records": {"\ud83d": ""}'),
        "gap": whole.replace('"begin": 500', '"begin": 501'),
        "wide": whole.replace('"shape": [1000, 4]',
                              '"shape": [1000, 9223372036854775807]'),
        "infinite": whole.replace('"momentum_product": 0.1',
                                  '"momentum_product": 1e999', 1),
    }


def shard(header, data=b"", metadata=True):
    if metadata:
        header = {"__metadata__": {"save_id": "0123456789abcdef"}, **header}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def tensor(begin, end, dtype="U8"):
    return {"dtype": dtype, "shape": [end - begin],
            "data_offsets": [begin, end]}


def shards():
    two = {"w[0:4]": tensor(0, 4), "w[0:4].m": tensor(4, 8)}
    return {
        "two": shard(two, b"abcdefgh"),
        "no_id": shard(two, b"abcdefgh", metadata=False),
        "nothing": shard({}),
        "zero_sized": shard({"b": tensor(0, 0), "a": tensor(0, 0),
                             "c": tensor(0, 1), "d": tensor(1, 1)}, b"x"),
        "cut": shard(two, b"abcdefg"),
        "hole": shard({"a": tensor(0, 1), "b": tensor(2, 3)}, b"abc"),
        "dtype": shard({"a": tensor(0, 1, "F8")}, b"a"),
        "short": b"\x04\0\0",
        "huge_header": b"\xff" * 16,
    }


def main():
    folder, formats = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([formats, "checkpoint", work], check=True)
        text = (pathlib.Path(work) / "ckpt-1/manifest.json").read_text()
    for kind, seeds in {
            "manifest": {name: body.encode()
                         for name, body in manifests(text).items()},
            "shard_file": shards()}.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (folder / kind / name).write_bytes(data)


if __name__ == "__main__":
    main()
