"""Small PNG files: the same picture written in several ways, as an application does that encodes
it anew for each request. Standard library only, so that the bytes are the same everywhere.
"""

import base64
import random
import struct
import zlib


def picture(rng: random.Random, width: int = 24, height: int = 16) -> list[bytes]:
    """Rows of RGB pixels: coloured boxes on a ground."""
    ground = bytes(rng.randrange(256) for _ in range(3))
    rows = [bytearray(ground * width) for _ in range(height)]
    for _ in range(rng.randrange(3, 7)):
        colour = bytes(rng.randrange(256) for _ in range(3))
        left, top = rng.randrange(width - 4), rng.randrange(height - 3)
        for row in rows[top : top + rng.randrange(2, 6)]:
            for x in range(left, min(width, left + rng.randrange(3, 9))):
                row[3 * x : 3 * x + 3] = colour
    return [bytes(row) for row in rows]


def png(rows: list[bytes], level: int = 6, comment: str = "", row_filter: int = 0) -> bytes:
    """The picture as PNG. row_filter: 0 none, 1 difference to the left neighbour."""
    width = len(rows[0]) // 3
    head = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    body = b"".join(bytes([row_filter]) + _filtered(row, row_filter) for row in rows)
    chunks = [(b"IHDR", head)]
    if comment:
        chunks.append((b"tEXt", b"Comment\0" + comment.encode("latin-1")))
    chunks += [(b"IDAT", zlib.compress(body, level)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def pixels(data: bytes) -> list[bytes]:
    """The rows of a PNG that this module wrote."""
    at, rows, width, packed = 8, [], 0, b""
    while at < len(data):
        (length,), name = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        inside = data[at + 8 : at + 8 + length]
        if name == b"IHDR":
            width = struct.unpack(">I", inside[:4])[0]
        elif name == b"IDAT":
            packed += inside
        at += 12 + length
    body, stride = zlib.decompress(packed), 3 * width + 1
    for start in range(0, len(body), stride):
        row = bytearray(body[start + 1 : start + stride])
        if body[start] == 1:
            for x in range(3, len(row)):
                row[x] = (row[x] + row[x - 3]) & 255
        rows.append(bytes(row))
    return rows


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _filtered(row: bytes, row_filter: int) -> bytes:
    if row_filter == 0:
        return row
    return bytes((row[x] - (row[x - 3] if x >= 3 else 0)) & 255 for x in range(len(row)))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
