"""A reverse proxy that writes one row of hitpath JSONL for each request to an LLM server.

    python record_proxy.py --upstream http://127.0.0.1:8000 --out trace.jsonl
    python record_proxy.py --upstream https://api.anthropic.com --prompts lengths --out trace.jsonl

Point clients at http://127.0.0.1:8900, everything else stays as it is. Python 3.10 or newer, no
packages: copy this file and record_rows.py to where the server is. Rows hold the prompt (or only
its length), the times, and the usage that the answer told; never headers, addresses or keys
(docs/get-a-trace.md).

Each client connection has one connection to the server. Bytes pass as they come, both ways, and a
side that hangs up is hung up on, so answers, errors and aborts are those of the server. Of the
requests' heads change: `Host`; `Accept-Encoding`, now identity, since a packed answer cannot be
read; and `Upgrade`, which goes: no web sockets. Rows are made by a thread once the answer has
passed; what it cannot keep up with is counted and not written.
"""

import argparse
import asyncio
import errno
import json
import os
import queue
import signal
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

from record_rows import Copy, Exchange, NotRecorded, row_of

MOST_WAITING_BYTES = 256 << 20  # of all exchanges that are not rows yet
PIECE_BYTES = 64 << 10
HEAD_BYTES = 256 << 10
RECORDED = ("/completions", "/messages", "/responses")
"""How the paths end that ask for generated text."""
CREDENTIALS = ("authorization", "proxy-authorization", "x-api-key", "api-key", "cookie")

T = TypeVar("T")


class Recorder:
    """Makes rows in a thread of its own and appends them, whole lines or nothing."""

    def __init__(self, path: str, prompts: str) -> None:
        # The file holds what people wrote: nobody else may read it.
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            raise SystemExit(f"{path}: ends inside a line; mend it, or name another file")
        self._prompts, self.num_rows = prompts, 0
        self.passed_over: Counter[str] = Counter()
        self._offered_bytes = self._done_bytes = 0  # one written by each thread
        self._waiting: queue.SimpleQueue[Exchange | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def offer(self, exchange: Exchange) -> None:
        """Take an exchange without ever waiting."""
        if self._offered_bytes - self._done_bytes > MOST_WAITING_BYTES:
            self._pass_over("the recorder could not keep up")
            return
        self._offered_bytes += exchange.size
        self._waiting.put(exchange)

    def close(self) -> None:
        """Write what is waiting, and say how much that was."""
        self._waiting.put(None)
        self._thread.join()
        os.close(self._file)
        _say(f"{self.num_rows} rows; not recorded: {dict(self.passed_over) or 'none'}")

    def _run(self) -> None:
        for exchange in iter(self._waiting.get, None):
            try:
                row = row_of(exchange, self._prompts)
                self._append(json.dumps(row, allow_nan=False).encode() + b"\n")
                self.num_rows += 1
            except NotRecorded as reason:
                self._pass_over(str(reason))
            except OSError as error:
                self._pass_over(f"not written: {error.strerror}")
            except Exception as error:  # an answer of any shape: the thread must go on
                self._pass_over(f"not understood ({type(error).__name__}: {error})")
            self._done_bytes += exchange.size

    def _append(self, line: bytes) -> None:
        size = os.fstat(self._file).st_size
        if os.write(self._file, line) != len(line):
            os.ftruncate(self._file, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _pass_over(self, reason: str) -> None:
        self.passed_over[reason] += 1
        if self.passed_over[reason] == 1:
            _say(f"a request was not recorded: {reason}")


def _say(text: str) -> None:
    print(f"record_proxy: {text}", file=sys.stderr, flush=True)


class Side(asyncio.StreamReader):
    """What one side of a connection sends, and whether it has hung up."""

    def __init__(self) -> None:
        super().__init__(limit=HEAD_BYTES, loop=asyncio.get_running_loop())
        self.ended = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.ended.set()

    async def head(self) -> bytes | None:
        """The next head with its empty line; None at the end."""
        try:
            return await self.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None


def _headers(head: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:-2])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _pass_body(
    side: Side, to: asyncio.StreamWriter, headers: dict[str, str], copy: Copy, is_answer: bool
) -> bool:
    """Pass a body on piece by piece. Returns whether it lasts until the side hangs up."""

    async def pass_on(front: bytes, size: int, num_body: int) -> None:
        while size:
            piece = await side.read(min(size, PIECE_BYTES))
            if not piece:
                raise ConnectionError("hung up inside a body")
            to.write(front + piece)
            copy.take(piece[:num_body])
            front, size, num_body = b"", size - len(piece), max(0, num_body - len(piece))
            await to.drain()

    if headers.get("transfer-encoding", "").lower().endswith("chunked"):
        while num_bytes := int((line := await side.readline()).split(b";")[0], 16):
            await pass_on(line, num_bytes + 2, num_bytes)
        to.write(line)
        while line := await side.readline():  # trailers, and the empty line
            to.write(line)
            if line == b"\r\n":
                break
    elif "content-length" in headers:
        length = int(headers["content-length"])
        await pass_on(b"", length, length)
    elif is_answer:
        while piece := await side.read(PIECE_BYTES):
            to.write(piece)
            copy.take(piece)
            await to.drain()
        return True
    await to.drain()
    return False


async def _unless(work: Coroutine[Any, Any, T], event: asyncio.Event) -> T | None:
    """The result of the work, or None where the event comes first."""
    task, stop = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        task.cancel()
        stop.cancel()


class Proxy:
    """Passes connections on to one server."""

    def __init__(self, upstream: str, recorder: Recorder, session_header: str) -> None:
        url = urlsplit(upstream)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise SystemExit(f"--upstream {upstream}: no http:// or https:// address")
        if session_header.lower() in CREDENTIALS:
            raise SystemExit(f"--session-header {session_header}: holds a credential")
        self._tls = ssl.create_default_context() if url.scheme == "https" else None
        self._host, self._port = url.hostname, url.port or (443 if self._tls else 80)
        self._netloc, self._base = url.netloc.encode(), url.path.rstrip("/").encode()
        self._recorder, self._session_header = recorder, session_header.lower()

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """One client's connection, until either side hangs up."""
        assert isinstance(client, Side)
        server, loop = Side(), asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(server, loop=loop)
        try:
            transport, _ = await loop.create_connection(
                lambda: protocol, self._host, self._port, ssl=self._tls
            )
        except OSError as error:
            _say(f"cannot reach {self._host}:{self._port}: {error}")
            to_client.close()
            return
        to_server = asyncio.StreamWriter(transport, protocol, server, loop)
        try:
            while await self._exchange(client, to_client, server, to_server):
                pass
        except (OSError, ValueError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # hung up, no HTTP, or the proxy stops: both sides are closed
        finally:
            to_server.close()
            to_client.close()

    async def _exchange(
        self,
        client: Side,
        to_client: asyncio.StreamWriter,
        server: Side,
        to_server: asyncio.StreamWriter,
    ) -> bool:
        """One request and its answer. Returns whether another may follow."""
        head = await _unless(client.head(), server.ended)
        if head is None:
            return False
        arrival_s, began = time.time(), time.perf_counter()
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        headers, path = _headers(head), target.partition("?")[0].rstrip("/")
        session = headers.get(self._session_header)
        made = Exchange(path, session, arrival_s, Copy(began), Copy(began))
        to_server.write(self._for_server(head))
        sending = asyncio.ensure_future(
            _pass_body(client, to_server, headers, made.request, is_answer=False)
        )
        sending.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            answer = self._answer(server, to_client, method, made)
            return bool(await _unless(answer, client.ended)) and sending.done()
        finally:
            sending.cancel()
            made.end_s = time.perf_counter() - began
            if method == "POST" and path.endswith(RECORDED):
                self._recorder.offer(made)

    def _for_server(self, head: bytes) -> bytes:
        """The head with the server's name and path, asking for answers that can be read."""
        first, *lines = head[:-4].split(b"\r\n")
        method, target, version = first.split(b" ")
        changed = (b"host", b"accept-encoding", b"upgrade")
        kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in changed]
        first = b" ".join((method, self._base + target, version))
        ours = [b"Host: " + self._netloc, b"Accept-Encoding: identity"]
        return b"\r\n".join([first, *ours, *kept]) + b"\r\n\r\n"

    @staticmethod
    async def _answer(
        server: Side, to_client: asyncio.StreamWriter, method: str, made: Exchange
    ) -> bool:
        """Pass the answer on. Returns whether the connection may be used again."""
        headers: dict[str, str] = {}
        while made.status < 200:  # those are interim, such as 100 Continue
            head = await server.head()
            if head is None:
                return False
            to_client.write(head)
            made.status, headers = int(head.split(b" ", 2)[1][:3]), _headers(head)
        made.content_type = headers.get("content-type", "")
        if method == "HEAD" or made.status in (204, 304):
            await to_client.drain()
            return True
        return not await _pass_body(server, to_client, headers, made.answer, is_answer=True)


async def run(options: argparse.Namespace) -> None:
    """Until SIGINT or SIGTERM; then connections are cut, and what they had is written."""
    recorder, loop = Recorder(options.out, options.prompts), asyncio.get_running_loop()
    try:
        proxy = Proxy(options.upstream, recorder, options.session_header)
        host, _, port = options.listen.rpartition(":")
        server = await loop.create_server(
            lambda: asyncio.StreamReaderProtocol(Side(), proxy.serve, loop=loop),
            host.strip("[]"), int(port), backlog=1024,
        )  # fmt: skip
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        host, port = server.sockets[0].getsockname()[:2]
        _say(f"listening on {host}:{port}, writing {options.prompts} to {options.out}")
        await stop.wait()
        server.close()
        cut = asyncio.all_tasks() - {asyncio.current_task()}
        for task in cut:
            task.cancel()
        await asyncio.gather(*cut, return_exceptions=True)
    finally:
        recorder.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--upstream", required=True, metavar="URL", help="where the server is")
    parser.add_argument("--out", required=True, metavar="FILE.jsonl", help="rows are appended")
    parser.add_argument("--listen", default="127.0.0.1:8900", metavar="HOST:PORT")
    parser.add_argument("--prompts", choices=("text", "tokens", "lengths"), default="text")
    parser.add_argument("--session-header", default="", metavar="NAME", help="names the session")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
