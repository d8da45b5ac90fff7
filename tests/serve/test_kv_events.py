"""KV events as vLLM 0.32 writes them: bytes against vLLM's own, and a reader of an engine's.

The golden file was made by vLLM's own classes and publisher; its header says how. The reader here
is written from the wire format alone.
"""

import json
import random
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
import zmq

from hitpath.core import SettingError
from hitpath.engine.events import BlocksRemoved, BlocksStored, CacheCleared, StepDone
from hitpath.engine.settings import EngineSettings
from hitpath.serve.kv_events import encode_batch
from hitpath.serve.publisher import EventPublisher
from serve.asking import asked_of, text_of
from serve.running import eventually, tiny_server

GOLDEN = json.loads((Path(__file__).parent / "vllm_0_32_kv_events.json").read_text())
KINDS = {"BlocksStored": BlocksStored, "BlocksRemoved": BlocksRemoved, "CacheCleared": CacheCleared}
STEP = StepDone(0.1, 0, 0, 0, 0, 0, 0, 0)


def records_of(case):
    made = []
    for record in case["records"]:
        ((name, fields),) = record.items()
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
        made.append(KINDS[name](**given))
    return made


@pytest.mark.parametrize("name", GOLDEN["cases"])
def test_a_batch_has_the_bytes_that_vllm_writes(name):
    case = GOLDEN["cases"][name]
    assert encode_batch(case["ts"], records_of(case)).hex() == case["payload"]


class Reader:
    """Subscribes, notices gaps, asks for a replay."""

    def __init__(self, publisher, topic=b""):
        self.context = zmq.Context()
        self.sub = self.context.socket(zmq.SUB)
        self.sub.subscribe(topic)
        self.sub.connect(publisher.endpoint)
        self.dealer = self.context.socket(zmq.DEALER)
        if publisher.replay_endpoint:
            self.dealer.connect(publisher.replay_endpoint)
        self.next = 0

    def close(self):
        self.context.destroy(linger=0)

    def receive(self, timeout_ms=3000):
        """(topic, number, payload), or None where nothing comes."""
        if not self.sub.poll(timeout_ms):
            return None
        topic, number, payload = self.sub.recv_multipart()
        assert len(number) == 8
        return topic, int.from_bytes(number, "big"), payload

    def replay(self, start):
        """Messages from `start` on, as they are kept."""
        self.dealer.send_multipart([b"", start.to_bytes(8, "big")])
        found = []
        while self.dealer.poll(3000):
            empty, topic, number, payload = self.dealer.recv_multipart()
            assert empty == b""
            if number == b"\xff" * 8:
                assert (topic, payload) == (b"", b"")
                return found
            found.append((topic, int.from_bytes(number, "big"), payload))
        raise AssertionError("the replay does not end")


@pytest.fixture
def publisher():
    made = EventPublisher("tcp://127.0.0.1:0", "tcp://127.0.0.1:0", "kv")
    yield made
    made.close()


@pytest.fixture
def reader(publisher):
    made = Reader(publisher)
    eventually(lambda: joined(publisher, made), "the reader is subscribed")
    yield made
    made.close()


def joined(publisher, reader):
    """PUB drops what comes before a reader is there; clearing says nothing else."""
    publisher.observe(CacheCleared())
    found = reader.receive(20)
    while found is not None:
        reader.next = found[1] + 1
        found = reader.receive(50)
        if found is None:
            return True
    return False


def step_of(publisher, case):
    """One step of an engine that did what the case says."""
    for record in records_of(case):
        publisher.observe(record)
    publisher.observe(STEP)


def test_frames_and_a_replay_are_those_of_vllm():
    """The same three batches as the golden's publisher got, from a fresh one."""
    publisher = EventPublisher("tcp://127.0.0.1:0", "tcp://127.0.0.1:0", "kv")
    reader = Reader(publisher, b"kv")
    try:
        # A step's records go out in one message, and a clearing at once, with what came before.
        for case in GOLDEN["cases"].values():
            step_of(publisher, case)
        eventually(lambda: len(reader.replay(0)) == 3, "all three are kept")
        kept = reader.replay(0)
        frames = [[t.hex(), n.to_bytes(8, "big").hex()] for t, n, _ in kept]
        assert frames == [frame[:2] for frame in GOLDEN["published"]]
        for (_, _, ours), (_, _, theirs) in zip(kept, GOLDEN["published"], strict=True):
            mine, other = (msgspec.msgpack.decode(data) for data in (ours, bytes.fromhex(theirs)))
            assert mine[1:] == other[1:]
        reader.dealer.send_multipart([b"", (1).to_bytes(8, "big")])
        raw = [[f.hex() for f in reader.dealer.recv_multipart()] for _ in range(3)]
        assert [r[:3] for r in raw] == [r[:3] for r in GOLDEN["replay_from_1"]]
        assert raw[-1] == GOLDEN["replay_from_1"][-1]
    finally:
        reader.close()
        publisher.close()


def test_one_message_a_step_with_rising_numbers(publisher, reader):
    stored, removed = GOLDEN["cases"]["stored_salted"], GOLDEN["cases"]["removed_cleared"]
    publisher.observe(STEP)  # nothing changed: nothing is sent
    for _ in range(3):
        step_of(publisher, stored)
    step_of(publisher, removed)
    found = [reader.receive() for _ in range(4)]
    assert [number - reader.next for _, number, _ in found] == [0, 1, 2, 3]
    assert {topic for topic, _, _ in found} == {b"kv"}
    times = [msgspec.msgpack.decode(payload)[0] for _, _, payload in found]
    assert times == sorted(times)
    kinds = [[e["type"] for e in msgspec.msgpack.decode(p)[1]] for _, _, p in found]
    assert kinds == [["BlockStored"] * 2] * 3 + [["BlockRemoved", "AllBlocksCleared"]]


def test_a_reader_that_missed_some_catches_up(publisher, reader):
    case = GOLDEN["cases"]["stored_plain"]
    step_of(publisher, case)
    reader.receive()
    reader.sub.unsubscribe(b"")
    eventually(lambda: lost(publisher, reader), "nothing comes any more")
    step_of(publisher, case)
    reader.sub.subscribe(b"")
    seen: list[int] = []
    eventually(lambda: heard(publisher, reader, seen), "it hears again")
    missed = reader.replay(reader.next + 1)
    numbers = [number for _, number, _ in missed]
    assert numbers == list(range(reader.next + 1, numbers[-1] + 1))
    assert numbers[-1] >= seen[0] > reader.next + 1  # a gap, and the replay has it


def lost(publisher, reader):
    publisher.observe(CacheCleared())
    return reader.receive(50) is None


def heard(publisher, reader, seen):
    publisher.observe(CacheCleared())
    found = reader.receive(20)
    if found is not None:
        seen.append(found[1])
    return found is not None


PLAIN_BYTES = len(GOLDEN["cases"]["stored_plain"]["payload"]) // 2


@pytest.mark.parametrize(
    ("bounds", "left"), [({"most_messages": 3}, 3), ({"most_bytes": 5 * PLAIN_BYTES}, 5)]
)
def test_what_is_kept_is_bounded(bounds, left):
    publisher = EventPublisher("tcp://127.0.0.1:0", "tcp://127.0.0.1:0", "", **bounds)
    reader = Reader(publisher)
    try:
        for _ in range(10):
            step_of(publisher, GOLDEN["cases"]["stored_plain"])
        expected = list(range(10 - left, 10))
        eventually(lambda: [n for _, n, _ in reader.replay(0)] == expected, "the last ones")
        assert reader.replay(100) == []
    finally:
        reader.close()
        publisher.close()


def test_what_is_no_replay_request_does_no_harm(publisher, reader):
    for frames in ([b""], [b"", b"x"], [b"", b"\x00" * 9], [b"a", b"b", b"c"], [b"\xff" * 1000]):
        reader.dealer.send_multipart(frames)
    assert reader.replay(2**63) == []


def test_endpoints_that_cannot_be(tmp_path):
    made = EventPublisher("tcp://127.0.0.1:0")
    try:
        for endpoint in (made.endpoint, "tcp://nowhere", "what", "tcp://127.0.0.1:99999", ""):
            with pytest.raises(SettingError, match="--kv-events"):
                EventPublisher(endpoint)
        with pytest.raises(SettingError, match="--kv-events-replay"):
            EventPublisher("tcp://127.0.0.1:0", made.endpoint)
    finally:
        made.close()
        made.close()


class Indexer:
    """What a router keeps of one engine, from its events alone."""

    def __init__(self):
        self.children = {}
        self.live = defaultdict(int)

    def take(self, payload):
        _, events, rank = msgspec.msgpack.decode(payload)
        assert rank == 0
        for event in events:
            getattr(self, event.pop("type"))(**event)

    def BlockStored(self, block_hashes, parent_block_hash, token_ids, block_size, **more):
        assert more["medium"] == "GPU"
        assert len(token_ids) == block_size * len(block_hashes)
        parent, salts = parent_block_hash, more["extra_keys"]
        for at, one in enumerate(block_hashes):
            tokens = tuple(token_ids[at * block_size : (at + 1) * block_size])
            salt = tuple(salts[at]) if salts[at] else None
            self.children[parent, salt, tokens] = one
            self.live[one] += 1
            parent = one

    def BlockRemoved(self, block_hashes, medium, group_idx):
        for one in block_hashes:
            self.live[one] -= 1
            assert self.live[one] >= 0, "removed more often than stored"

    def AllBlocksCleared(self):
        self.live.clear()

    def matched(self, tokens, salt, size):
        """Leading tokens of a prompt that the engine holds; one token is always computed."""
        parent, count = None, 0
        for start in range(0, (len(tokens) - 1) // size * size, size):
            first = (salt,) if salt is not None and not start else None
            key = parent, first, tuple(tokens[start : start + size])
            parent = self.children.get(key)
            if parent is None or not self.live[parent]:
                break
            count += size
        return count


@pytest.mark.parametrize(("index", "size"), [("blocks", 16), ("radix", 4)])
def test_a_reader_knows_every_hit_before_it_happens(index, size):
    """Small cache, so blocks are evicted; two tenants; a clearing in the middle."""
    publisher = EventPublisher("tcp://127.0.0.1:0", "tcp://127.0.0.1:0")
    settings = EngineSettings(
        num_blocks=1024 // size, block_size=size, index=index, max_model_len=512, num_threads=1
    )
    running, engine = tiny_server(settings, publisher.observe)
    indexer, chance, hits, next_number = Indexer(), random.Random(index), 0, 0
    reader = Reader(publisher)
    try:
        with running as server, server.client() as client:
            for turn in range(60):
                if turn == 30:
                    server.ask("DELETE", "/v1/cache")
                prompt = text_of(f"{chance.randrange(5)}", 200)[: chance.randrange(20, 200)]
                salt = chance.choice([None, "tenant"])
                extra = {} if salt is None else {"cache_salt": salt}
                for _, number, payload in reader.replay(next_number):
                    assert number == next_number
                    next_number += 1
                    indexer.take(payload)
                expected = indexer.matched(list(prompt.encode()), salt, size)
                answer = client.completions.create(**asked_of(prompt, 3, extra_body=extra))
                assert answer.usage.prompt_tokens_details.cached_tokens == expected
                hits += expected > 0
            stats = engine.stats()
    finally:
        publisher.close()
        reader.close()
    assert hits > 15
    assert stats.evictions["capacity"] > 0
