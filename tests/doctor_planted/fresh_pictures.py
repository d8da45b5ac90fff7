"""The same pixels in other bytes: other chunks, filters, formats and heads of data URLs."""

import struct
import zlib
from typing import Any

from doctor_planted.images import _chunk, base64_of, png
from doctor_planted.own_planters import pictures

Rows = list[bytes]


def _png(rows: Rows, body: bytes, before: list[tuple[bytes, bytes]], level: int = 6) -> bytes:
    head = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), *before, (b"IDAT", zlib.compress(body, level)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _plain(rows: Rows) -> bytes:
    return b"".join(b"\x00" + row for row in rows)


def _url(data: bytes, head: str = "data:image/png;base64") -> str:
    return f"{head},{base64_of(data)}"


def _up(rows: Rows, epoch: int) -> str:
    """Each line as the difference to the one above."""
    out, above = b"", bytes(len(rows[0]))
    for row in rows:
        out += b"\x02" + bytes((x - y) & 255 for x, y in zip(row, above, strict=True))
        above = row
    return _url(_png(rows, out, [], 1 + epoch % 9))


def _average(rows: Rows, epoch: int) -> str:
    out, above = b"", bytes(len(rows[0]))
    for row in rows:
        line = bytes((row[i] - ((row[i - 3] if i >= 3 else 0) + above[i]) // 2) & 255
                     for i in range(len(row)))  # fmt: skip
        out, above = out + b"\x03" + line, row
    return _url(_png(rows, out, [], 1 + epoch % 9))


def _ztxt(rows: Rows, epoch: int) -> str:
    told = b"Description\x00\x00" + zlib.compress(b"screen %d" % epoch)
    return _url(_png(rows, _plain(rows), [(b"zTXt", told)]))


def _exif(rows: Rows, epoch: int) -> str:
    stamp = b"2026:03:09 06:%02d:%02d\x00" % (epoch // 60 % 60, epoch % 60)
    data = b"MM\x00*\x00\x00\x00\x08\x00\x01\x012\x00\x02\x00\x00\x00\x14\x00\x00\x00\x1a"
    return _url(_png(rows, _plain(rows), [(b"eXIf", data + b"\x00\x00\x00\x00" + stamp)]))


def _named(rows: Rows, epoch: int) -> str:
    """A file's name stands in the data URL."""
    return _url(png(rows), f"data:image/png;name=shot-{epoch}.png;base64")


def _bmp(rows: Rows, epoch: int) -> str:
    """As a bitmap of Windows: without loss, lines from below, blue first."""
    width, pad = len(rows[0]) // 3, -len(rows[0]) % 4
    body = b"".join(b"".join(row[i : i + 3][::-1] for i in range(0, len(row), 3)) + bytes(pad)
                    for row in reversed(rows))  # fmt: skip
    dots = 2835 + epoch
    info = struct.pack("<IiiHHIIiiII", 40, width, len(rows), 1, 24, 0, len(body), dots, dots, 0, 0)
    return _url(b"BM" + struct.pack("<IHHI", 54 + len(body), 0, 0, 54) + info + body,
                "data:image/bmp;base64")  # fmt: skip


def _background(rows: Rows, epoch: int) -> str:
    chunk = struct.pack(">HHH", epoch % 256, 7, 9)
    return _url(_png(rows, _plain(rows), [(b"bKGD", chunk)]))


def _charset(rows: Rows, epoch: int) -> str:
    return _url(png(rows, level=1 + epoch % 9), "data:image/png;charset=utf-8;base64")


IMAGES: dict[str, Any] = {
    "up_filter": pictures(_up), "average_filter": pictures(_average), "ztxt": pictures(_ztxt),
    "exif": pictures(_exif), "named": pictures(_named), "bmp": pictures(_bmp),
    "background": pictures(_background), "charset": pictures(_charset),
}  # fmt: skip
