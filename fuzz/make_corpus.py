#!/usr/bin/env python3
"""Writes the seeds of fuzz_frame: fuzz/make_corpus.py fuzz/corpus/frame

Valid conversations and some that are nearly so, each a mode byte (see
frame_fuzz.cc) and what the peer says. Inputs that the fuzzer found lie beside
them under other names.
"""

import pathlib
import struct
import sys

HELLO, WELCOME, REFUSE, REQUEST, RESPONSE, DATA, ABORT, CANCEL, PING, PONG, \
    GOODBYE = range(1, 12)
CODECS, CLIENT, SERVER = 0, 1, 2
HANDSHAKE, REPAIR, SILENT, DEAF = 4, 8, 16, 32
BYTEWISE, ODD = 64, 128


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def header(kind, code=0, id=0, timeout=0, total=0, limit=0, body=0, count=0):
    head = struct.pack("<4sBBHQQQQIII", b"CAPS", 1, kind, code, id, timeout,
                       total, limit, body, count, 0)
    return head + struct.pack("<I", crc32c(head))


def message(kind, code=0, id=1, body=b"", parts=(), timeout=0, limit=0):
    """Header, table and body; the attachments too if they go inline."""
    total = sum(map(len, parts))
    bytes_ = header(kind, code, id, timeout, total, limit, len(body),
                    len(parts))
    bytes_ += b"".join(struct.pack("<Q", len(part)) for part in parts) + body
    return bytes_ + (b"".join(parts) if total <= 64 << 10 else b"")


def request(method, id=1, body=b"", parts=(), timeout=1_000_000):
    return message(REQUEST, method, id, body, parts, timeout, 1 << 20)


def piece(id, data):
    return header(DATA, id=id, total=len(data)) + data


def text(number, value):
    return bytes([number << 3 | 2, len(value)]) + value


def hello(job=b"fuzz", role=b"worker", lane=0):
    return (text(1, b"1") + text(2, job) + text(3, role)
            + bytes([4 << 3, 3]) + bytes([5 << 3 | 1]) + b"incarnat"
            + bytes([6 << 3 | 1]) + b"session1" + bytes([7 << 3, lane]))


def frame(kind, body=b"", code=0):
    return header(kind, code, body=len(body)) + body


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    large = [b"l" * 40_000, b"", b"m" * 30_000]
    data = b"".join(large)
    server = SERVER | HANDSHAKE
    client = CLIENT | HANDSHAKE
    big = message(RESPONSE, id=2, body=b"b", parts=large)
    placed = message(RESPONSE, id=3, parts=[large[0], large[2]])
    error = text(1, b"no such thing") + text(2, b"ps/3")
    seeds = {
        "codec_header": (CODECS, request(3, body=b"body", parts=[b"a", b""])),
        "codec_hello": (CODECS, hello()),
        "codec_error": (CODECS, error),
        "server_hello": (SERVER, frame(HELLO, hello())),
        "server_bulk": (SERVER, frame(HELLO, hello(lane=1)) + request(0)),
        "server_other_job": (SERVER, frame(HELLO, hello(job=b"x"))),
        "server_bytewise": (SERVER | BYTEWISE,
                            frame(HELLO, hello()) + request(4, body=b"b")),
        "server_echo": (server, request(4, body=b"b", parts=[b"one", b""])),
        "server_two": (server, request(2, 1) + request(4, 2, parts=[b"x"])),
        "server_same_id": (server, request(3, 1) + request(3, 1)),
        "server_cancel": (server, request(3, 7) + header(CANCEL, id=7)),
        "server_deadline": (server | SILENT, request(3, 7)),
        "server_many": (server | SILENT,
                        b"".join(request(3, i) for i in range(1, 20))),
        "server_pieces": (server | ODD, request(4, parts=large)
                          + piece(1, data[:60_000]) + header(PING)
                          + request(4, 2, body=b"between")
                          + piece(1, data[60_000:])),
        "server_stream": (server, request(1, parts=large) + piece(1, data)),
        "server_unread": (server, request(2, parts=large) + piece(1, data)
                          + request(4, 2)),
        "server_abort": (server, request(1, parts=large)
                         + piece(1, data[:9]) + header(ABORT, id=1)),
        "server_stall": (server | SILENT, request(1, parts=large)
                         + piece(1, data[:1_000])[:500]),
        "server_deaf": (server | SILENT | DEAF,
                        request(4, parts=[b"x" * 60_000])),
        "server_control": (server, header(PING) + header(PONG)
                           + header(CANCEL, id=9) + header(GOODBYE)),
        "server_huge": (server, header(REQUEST, 4, 1, 1, 1 << 40, 0, 0, 1)
                        + struct.pack("<Q", 1 << 40)),
        "server_repair": (server | REPAIR, request(4, body=b"b")),
        "client_welcome": (CLIENT, frame(WELCOME, hello(role=b"ps"))),
        "client_refuse": (CLIENT, frame(REFUSE, error, code=9)),
        "client_answer": (client, message(RESPONSE, body=b"answer")),
        "client_error": (client, message(RESPONSE, 5, body=error)),
        "client_parts": (client, message(RESPONSE, parts=[b"a", b"b"])),
        "client_all": (client, b"".join(
            message(RESPONSE, id=i, parts=[b"x" * i, b"y"])
            for i in (3, 2, 1))),
        "client_pieces": (client | ODD, big + piece(2, data[:100])
                          + header(PING) + piece(2, data[100:])),
        "client_placed": (client, placed + piece(3, data)),
        "client_abort": (client, placed + header(ABORT, id=3)),
        "client_stall": (client | SILENT, placed + piece(3, data)[:3_000]),
        "client_deaf": (client | SILENT | DEAF, b""),
        "client_goodbye": (client, header(GOODBYE)
                           + message(RESPONSE, body=b"last")),
        "client_twice": (client, 2 * message(RESPONSE, body=b"again")),
        "client_repair": (client | REPAIR, message(RESPONSE, body=b"r")),
    }
    for name, (mode, bytes_) in seeds.items():
        (folder / name).write_bytes(bytes([mode]) + bytes_)
    print(f"{len(seeds)} seeds in {folder}")


if __name__ == "__main__":
    main()
