"""The life of a server: bind, start, serve, drain, end.

The first SIGTERM or SIGINT drains: running requests end, new ones get 503. The second ends at
once. Exit codes: 0 drained, 1 the engine failed, 130 ended at once or not drained in time.
"""

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from hitpath.core import SettingError
from hitpath.serve.app import make_app
from hitpath.serve.log import LoopFaults, say, web_logger
from hitpath.serve.state import ServerState

BACKLOG = 128
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_PATIENCE_S = 1.0
_LAST_WORDS_S = 2.0
"""For answers that are complete to reach clients that read slowly."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`drain_s`: how long running requests may take once the server has been told to stop."""

    drain_s: float = 30.0
    most_body_bytes: int = 16 << 20


def bind(host: str, port: int) -> socket.socket:
    """A bound socket, so that a port in use is known before a model is loaded. Raises
    SettingError."""
    place = f"--host {host} --port {port}"
    if not 0 <= port < 1 << 16:
        raise SettingError(f"--port {port}", "is not from 0 to 65,535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise SettingError(place, f"{getattr(error, 'strerror', None) or error}") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise _cannot_listen(place, error) from error
    return bound


def _cannot_listen(place: str, error: OSError) -> SettingError:
    if error.errno == errno.EADDRINUSE:
        return SettingError(place, "is in use by another program; --port 0 takes a free one")
    return SettingError(place, str(error.strerror or error))


def url_of(bound: socket.socket) -> str:
    """Where the server is."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server:
    """One run. Everything but `bind` happens in the loop that runs `run`."""

    def __init__(
        self,
        state: ServerState,
        bound: socket.socket,
        settings: ServerSettings,
        abandon: Callable[[int], None] = os._exit,
    ) -> None:
        self._abandon = abandon
        self._state = state
        self._bound = bound
        self._settings = settings
        self._stop = asyncio.Event()
        self._at_once = asyncio.Event()

    def asked_to_stop(self) -> None:
        """What a signal does: the first time drain, the second time end at once."""
        if self._stop.is_set():
            self._at_once.set()
            return
        self._stop.set()
        num = self._state.num_open
        say(f"stopping: {num} open request{'s' * (num != 1)} to finish (again: at once)")

    async def run(self, ready: Callable[[str], None], handle_signals: bool = True) -> int:
        """Serve until told to stop: the exit code. `ready` gets the URL."""
        runner = web.AppRunner(
            make_app(self._state, self._settings.most_body_bytes),
            access_log=None,
            logger=web_logger(),
            handler_cancellation=True,
            shutdown_timeout=0.2,
        )
        self._state.on_failure = self._stop.set
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(LoopFaults())
        if handle_signals:
            for number in SIGNALS:
                loop.add_signal_handler(number, self.asked_to_stop)
        try:
            await runner.setup()
            await self._state.served.start()
            await web.SockSite(runner, self._bound, backlog=BACKLOG).start()
            ready(url_of(self._bound))
            await self._stop.wait()
            return await self._end()
        finally:
            await _close(runner)
            self._state.prompts.close()

    async def _end(self) -> int:
        state = self._state
        state.is_draining = True
        if state.failed is not None:
            await state.served.stop(drain=False)
            return 1
        draining = asyncio.create_task(self._drain())
        hurried = asyncio.create_task(self._at_once.wait())
        await asyncio.wait({draining, hurried}, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        if draining.done():
            in_time = draining.result()
            return 1 if state.failed is not None else 0 if in_time else 130
        draining.cancel()
        await asyncio.wait({draining})
        await self._end_now()
        return 130

    async def _end_now(self) -> None:
        """A step under way cannot be cut short; it is not waited for longer than a second."""
        try:
            await asyncio.wait_for(self._state.served.stop(drain=False), _PATIENCE_S)
        except TimeoutError:
            self._abandon(130)

    async def _drain(self) -> bool:
        """Whether all that ran has ended by itself."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._settings.drain_s
        await self._state.served.stop(drain=True, timeout_s=self._settings.drain_s)
        in_time = loop.time() < until
        last = loop.time() + _LAST_WORDS_S
        while self._state.num_open and loop.time() < last:
            await asyncio.sleep(0.01)
        return in_time


async def _close(runner: web.AppRunner) -> None:
    """Ends all connections, also those whose clients do not read what was sent."""
    connections = [] if runner.server is None else runner.server.connections
    transports = [one.transport for one in connections if one.transport is not None]
    await runner.cleanup()
    for transport in transports:
        transport.abort()
    await asyncio.sleep(0)  # aborting takes effect in the loop's next round
