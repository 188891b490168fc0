#!/usr/bin/env python3
"""Writes the seeds of fuzz_npz:

    fuzz/make_npz_corpus.py fuzz/corpus/npz

Archives as numpy.savez and numpy.savez_compressed make them, and some that are
nearly so. Inputs that the fuzzer found lie beside them under other names.
"""

import io
import pathlib
import struct
import sys
import zipfile


def npy(descr="<f4", shape="(2, 3)", data=bytes(24), fortran="False",
        version=1):
    text = (f"{{'descr': '{descr}', 'fortran_order': {fortran}, "
            f"'shape': {shape}, }}\n").encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def archive(members, method=zipfile.ZIP_STORED, zip64=False, pipe=False):
    class Pipe(io.BytesIO):
        """Which cannot seek, so that sizes follow the data."""

        def seekable(self):
            return False

        def tell(self):
            raise OSError

        def seek(self, *_):
            raise OSError

    out = Pipe() if pipe else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            with file.open(info, "w", force_zip64=zip64) as member:
                member.write(data)
    return out.getvalue()


def seeds():
    two = {"a.npy": npy(data=bytes(range(24))),
           "dense/b.npy": npy("<i8", "()", bytes(8))}
    stored = archive(two, zip64=True)
    deflated = archive(two, zipfile.ZIP_DEFLATED, zip64=True)
    directory = stored.index(b"PK\1\2")
    return {
        "stored": stored,
        "deflated": deflated,
        "pipe": archive(two, zipfile.ZIP_DEFLATED, pipe=True),
        "versions": archive({"2.npy": npy(version=2),
                             "3.npy": npy(version=3)}),
        "kinds": archive({
            "f2.npy": npy("<f2", "(1,)", bytes(2)),
            "f8.npy": npy("<f8", "(1,)", bytes(8)),
            "b1.npy": npy("|b1", "(2,)", b"\0\1"),
            "u1.npy": npy("|u1", "(0, 4)", b"")}),
        "bomb": archive({"z.npy": npy("|u1", "(1000000,)", bytes(1_000_000))},
                        zipfile.ZIP_DEFLATED),
        "empty": archive({}),
        "fortran": archive({"a.npy": npy(fortran="True")}),
        "big_endian": archive({"a.npy": npy(">f4")}),
        "widths": archive({
            "i1.npy": npy("|i1", "(2,)", b"\x7f\x80"),
            "i2.npy": npy(">i2", "(2,)", b"\xff\xfe\0\1"),
            "u2.npy": npy("<u2", "(2, 2)", bytes(range(8)), fortran="True"),
            "u4.npy": npy(">u4", "(1, 3)", bytes(range(12)), fortran="True"),
            "f8.npy": npy(">f8", "(2, 0, 3)", b"", fortran="True")}),
        "strings": archive({"a.npy": npy("<U16", "(1,)", bytes(64)),
                            "w.npy": npy()}),
        "objects": archive({"a.npy": npy("|O")}),
        "other_size": archive({"a.npy": npy(shape="(2, 4)")}),
        "wraps": archive({"a.npy": npy(shape="(4294967296, 4294967296)")}),
        "no_array": archive({"a.txt": b"text"}),
        "folder": archive({"d/": b"", "d/a.npy": npy()}),
        "lzma": archive(two, zipfile.ZIP_LZMA),
        "cut": stored[:-1],
        "encrypted": deflated.replace(b"PK\1\2\x2d\x03\x2d\0\0",
                                      b"PK\1\2\x2d\x03\x2d\0\1"),
        "overlap": stored[:directory] + stored[directory:].replace(
            struct.pack("<I", stored.index(b"PK\3\4", 4)) + b"dense",
            struct.pack("<I", 1) + b"dense"),
        "comment": stored[:-2] + b"\5\0hello",
        "short": b"PK\5\6",
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
