"""Publishes KV events on ZMQ sockets, and again to those that missed some.

PUB: a message for each step that changed the cache (kv_events.py). ROUTER, if wanted: a reader
sends ["", first sequence number, 8 bytes big-endian], and gets every kept message from there on
as ["", topic, number, payload], then number -1 with an empty payload (vLLM's replay protocol).
A reader that is too slow loses messages, and sees it by a gap in the numbers.

Threads: `observe` is called by the engine's; the sockets belong to one of their own.
"""

import socket
import threading
import time
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue

import zmq

from hitpath.core import SettingError
from hitpath.engine.events import BlocksRemoved, BlocksStored, CacheCleared, Record, StepDone
from hitpath.serve.kv_events import CacheRecord, encode_batch

MOST_MESSAGES = 10_000
MOST_BYTES = 64 << 20
HIGH_WATER_MARK = 100_000
END = (-1).to_bytes(8, "big", signed=True)
_LINGER_MS = 500


class EventPublisher:
    """Binds both sockets when it is made. Raises SettingError where that cannot be."""

    def __init__(
        self,
        endpoint: str,
        replay_endpoint: str | None = None,
        topic: str = "",
        most_messages: int = MOST_MESSAGES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._topic = topic.encode()
        self._context = zmq.Context()
        self._sockets: list[zmq.Socket[bytes]] = []
        try:
            self._pub = self._bound("--kv-events", zmq.PUB, endpoint)
            self._replay = (
                None
                if replay_endpoint is None
                else self._bound("--kv-events-replay", zmq.ROUTER, replay_endpoint)
            )
        except SettingError:
            self._context.destroy(linger=0)
            raise
        self.endpoint = self._pub.get_string(zmq.LAST_ENDPOINT)
        self.replay_endpoint = (
            None if self._replay is None else self._replay.get_string(zmq.LAST_ENDPOINT)
        )
        self._step: list[CacheRecord] = []
        self._queue: SimpleQueue[tuple[float, list[CacheRecord]] | None] = SimpleQueue()
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._most_messages, self._most_bytes = most_messages, most_bytes
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="kv-events", daemon=True)
        self._thread.start()

    def observe(self, record: Record) -> None:
        """Takes a record of the engine; what a step did goes out when the step is over."""
        if isinstance(record, BlocksStored | BlocksRemoved | CacheCleared):
            self._step.append(record)
        if self._step and isinstance(record, StepDone | CacheCleared):
            self._queue.put((time.time(), self._step))
            self._step = []
            self._ring()

    def close(self) -> None:
        """Sends what is left and ends; again it does nothing."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._ring()
            self._thread.join()

    def _bound(self, option: str, kind: int, endpoint: str) -> "zmq.Socket[bytes]":
        port = endpoint.rpartition(":")[2]
        if port.isdigit() and int(port) >= 1 << 16:  # zmq would take it modulo 65,536
            raise SettingError(f"{option} {endpoint}", "the port is not from 0 to 65,535")
        made = self._context.socket(kind)
        made.set_hwm(HIGH_WATER_MARK)
        try:
            made.bind(endpoint)
        except zmq.ZMQError as error:
            cause = f"cannot bind there: {error.strerror}"
            raise SettingError(f"{option} {endpoint}", cause) from error
        self._sockets.append(made)
        return made

    def _ring(self) -> None:
        with suppress(OSError):  # it is ringing already, or nobody hears it any more
            self._bell.send(b"!")

    # ---- on the thread of the sockets

    def _run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._ear, zmq.POLLIN)
        if self._replay is not None:
            poller.register(self._replay, zmq.POLLIN)
        number, is_open = 0, True
        while is_open:
            ready = dict(poller.poll())
            if self._ear.fileno() in ready:
                self._ear.recv(4096)
            number, is_open = self._publish(number)
            if self._replay is not None and self._replay in ready:
                self._answer(self._replay)
        for one in self._sockets:
            one.close(linger=_LINGER_MS)
        self._bell.close()
        self._ear.close()
        self._context.term()

    def _publish(self, number: int) -> tuple[int, bool]:
        """Sends what is queued: (the next number, whether more may come)."""
        while True:
            try:
                item = self._queue.get_nowait()
            except Empty:
                return number, True
            if item is None:
                return number, False
            payload = encode_batch(*item)
            self._pub.send_multipart((self._topic, number.to_bytes(8, "big"), payload))
            self._keep(number, payload)
            number += 1

    def _keep(self, number: int, payload: bytes) -> None:
        self._kept.append((number, payload))
        self._kept_bytes += len(payload)
        while len(self._kept) > self._most_messages or self._kept_bytes > self._most_bytes:
            _, oldest = self._kept.popleft()
            self._kept_bytes -= len(oldest)

    def _answer(self, replay: "zmq.Socket[bytes]") -> None:
        """One replay request; what is none is left without an answer."""
        frames = replay.recv_multipart()
        if len(frames) != 3 or len(frames[2]) != 8:
            return
        reader, _, first = frames
        start = int.from_bytes(first, "big")
        for number, payload in self._kept:
            if number >= start:
                message = (reader, b"", self._topic, number.to_bytes(8, "big"), payload)
                replay.send_multipart(message)
        replay.send_multipart((reader, b"", b"", END, b""))
