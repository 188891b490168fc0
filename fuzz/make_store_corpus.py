#!/usr/bin/env python3
"""Writes the seeds of fuzz_store: fuzz/make_store_corpus.py fuzz/corpus/store

One valid call of each verb, and some that are nearly so, in the form that
store_fuzz.cc reads.
"""

import pathlib
import struct
import sys

(INSTALL, SHARD_MAP, PULL, PUSH, GATHER, SCATTER, READ, COMMIT, TICK,
 WATERMARK, STATUS, SNAPSHOT, SNAPSHOT_READ, SNAPSHOT_WRITE, SNAPSHOT_DROP,
 STAGE_ROWS, STAGE_FILE, STAGE_COMMIT, STAGE_DROP) = range(19)
F32, F16, BF16, I32 = 1, 3, 4, 5
GRADIENT, SET, ADD, SUB, MUL, DIV, MIN, MAX = range(8)
# The ids of the variables in store_fuzz.cc.
ADAGRAD, SYNC, BOUNDED, INTEGERS, UNSET = 1, 2, 3, 4, 5


def varint(number):
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, (list, tuple)):
        return field(number, b"".join(map(varint, value)))
    return varint(number << 3) + varint(value)


def shards(variables, step=1, push=0, round=0, replica=0, operation=GRADIENT,
           dtypes=None, versions=None, scales=None, generation=1, term=1):
    body = (field(1, generation) + field(2, term) + field(3, step)
            + field(4, push) + field(5, round) + field(6, replica)
            + field(7, 1) + field(8, operation) + field(9, variables)
            + field(10, [0] * len(variables)))
    if versions:
        body += field(11, versions)
    if dtypes:
        body += field(12, bytes(dtypes))
    if scales:
        body += field(13, struct.pack(f"<{len(scales)}f", *scales))
    return body


def rounds(round, replicas, generation=1, term=1):
    return (field(1, generation) + field(2, term) + field(3, round)
            + field(4, replicas))


def read(variable, begin, end, slot=0):
    return (field(1, 1) + field(2, 1) + field(3, variable) + field(4, 0)
            + field(5, begin) + field(6, end) + field(7, slot))


FENCE = field(1, 1) + field(2, 1)
# As store_fuzz.cc has it.
DIRECTORY = field(1, b"c") + field(2, b"p") + field(3, b"x")


def snapshot(save_id=1):
    return FENCE + field(3, save_id)


def snapshot_read(variable, begin, end, slot=0):
    return (snapshot() + field(4, variable) + field(5, 0) + field(6, slot)
            + field(7, begin) + field(8, end))


def snapshot_write(name):
    return snapshot() + field(4, DIRECTORY) + field(5, name)


def stage_rows(variable, begin, end, slot=0):
    return (snapshot() + field(4, variable) + field(5, 0) + field(6, 1)
            + field(7, slot) + field(8, begin) + field(9, end))


def stage_file(name, tensor, rows):
    copy = field(1, tensor) + field(2, ADAGRAD) + field(6, rows)
    return (snapshot() + field(4, 1) + field(5, DIRECTORY) + field(6, 1)
            + field(7, name) + field(8, 1000)
            + field(10, field(1, tensor) + field(2, 7)) + field(11, copy))


def stage_commit(variable, slots):
    return snapshot() + field(4, 1) + field(
        5, field(1, variable) + field(3, 2) + field(5, slots))


def call(method, body=b"", *parts):
    out = bytes([method]) + struct.pack(">H", len(body)) + body
    out += bytes([len(parts)])
    for part in parts:
        out += struct.pack(">H", len(part)) + part
    return out


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def rows(*numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    ones = floats(*[1.0] * 32)
    row = floats(1, 2, 3, 4)
    nan = float("nan")
    push = call(PUSH, shards([ADAGRAD]), ones)
    staged = call(PUSH, shards([SYNC], round=1), ones)
    seeds = {
        "status": call(STATUS),
        "map": call(SHARD_MAP),
        "pull": call(PULL, shards([ADAGRAD, SYNC, BOUNDED, INTEGERS])),
        "pull_newer": call(PULL, shards([ADAGRAD], versions=[1])),
        "pull_unset": call(PULL, shards([UNSET])),
        "pull_waits": call(PULL, shards([SYNC, BOUNDED], round=9)),
        "push": push,
        "push_twice": push + push,
        "push_half": call(PUSH, shards([ADAGRAD], dtypes=[F16]), bytes(64)),
        "push_scaled": call(PUSH, shards([ADAGRAD, BOUNDED],
                                         scales=[0.5, 2.0]), ones, ones),
        "push_nan": call(PUSH, shards([ADAGRAD]), floats(*[nan] * 32)),
        "push_skipped": call(PUSH, shards([BOUNDED]), floats(*[nan] * 32)),
        "push_short": call(PUSH, shards([ADAGRAD]), row),
        "push_old": call(PUSH, shards([ADAGRAD], generation=0), ones),
        "push_term": call(PUSH, shards([ADAGRAD], term=7), ones) + push,
        "set": call(PUSH, shards([UNSET], operation=SET, dtypes=[BF16]),
                    bytes(64)) + call(PULL, shards([UNSET])),
        "divide": call(PUSH, shards([INTEGERS], operation=DIV, dtypes=[I32]),
                       struct.pack("<32i", *[-1] * 32)),
        "divide_by_zero": call(PUSH, shards([INTEGERS], operation=DIV,
                                            dtypes=[I32]), bytes(128)),
        "gather": call(GATHER, shards([ADAGRAD]), rows(0, 7, 7)),
        "gather_out": call(GATHER, shards([ADAGRAD]), rows(8)),
        "scatter": call(SCATTER, shards([ADAGRAD]), rows(3), row),
        "scatter_twice": call(SCATTER, shards([BOUNDED]), rows(3, 3),
                              row + row),
        "scatter_max": call(SCATTER, shards([ADAGRAD], operation=MAX),
                            rows(1, 2), row + row),
        "read": call(READ, read(ADAGRAD, 2, 5)),
        "read_slot": call(READ, read(BOUNDED, 0, 8, 2)),
        "read_out": call(READ, read(ADAGRAD, 5, 99)),
        "round": staged + call(COMMIT, rounds(1, [0])) + staged,
        "round_rows": call(SCATTER, shards([SYNC], round=1), rows(1), row)
        + staged + call(COMMIT, rounds(1, [0, 1])),
        "tick": call(TICK, rounds(1, [0, 1]))
        + call(PULL, shards([BOUNDED], round=3)),
        "watermark": push + call(WATERMARK, field(1, 1) + field(2, 1)
                                 + field(3, 5)) + push,
        "record": call(WATERMARK, FENCE + field(3, 5) + field(4, b"record"))
        + call(STATUS),
        "snapshot": push + call(SNAPSHOT, snapshot()) + push
        + call(SNAPSHOT_READ, snapshot_read(ADAGRAD, 1, 5, 1))
        + call(SNAPSHOT_DROP, snapshot()),
        "snapshot_twice": call(SNAPSHOT, snapshot())
        + call(SNAPSHOT, snapshot(2))
        + call(SNAPSHOT_READ, snapshot_read(ADAGRAD, 0, 9)),
        "snapshot_write": call(SNAPSHOT, snapshot())
        + call(SNAPSHOT_WRITE, snapshot_write(b"s")) * 2
        + call(STAGE_FILE, stage_file(b"s", b"a[0:8]", 8)),
        "stage": call(STAGE_ROWS, stage_rows(ADAGRAD, 0, 8), ones)
        + call(STAGE_COMMIT, stage_commit(ADAGRAD, 0)) * 2,
        "stage_slots": call(STAGE_ROWS, stage_rows(ADAGRAD, 0, 8), ones)
        + call(STAGE_ROWS, stage_rows(ADAGRAD, 0, 3, 1), row * 3)
        + call(STAGE_COMMIT, stage_commit(ADAGRAD, 1))
        + call(STAGE_DROP, snapshot(0)),
        "stage_out": call(STAGE_ROWS, stage_rows(ADAGRAD, 5, 9), ones),
        "install": call(INSTALL, field(1, 1) + field(3, b"")),
    }
    for name, bytes_ in seeds.items():
        (folder / name).write_bytes(bytes_)
    print(f"{len(seeds)} seeds in {folder}")


if __name__ == "__main__":
    main()
