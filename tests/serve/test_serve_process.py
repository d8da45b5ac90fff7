"""`hitpath serve` as a process: what it says, its signals, its exit codes."""

import http.client
import json
import signal
import subprocess
import sys

import msgspec
import pytest
import zmq

from serve.running import TEXT
from support import signals_as_usual

SCRIPT = """
import sys
from hitpath.core import HitpathError
from hitpath.engine.settings import EngineSettings
from hitpath.serve.job import ServeJob
from hitpath.serve.run import run_serve
try:
    run_serve(
        ServeJob(
            None,
            tiny=True,
            port=int(sys.argv[1]),
            engine=EngineSettings(num_blocks=512, max_model_len=4096, num_threads=1),
            kv_events="tcp://127.0.0.1:0",
            kv_events_replay="tcp://127.0.0.1:0",
            drain_s=20,
        )
    )
except HitpathError as error:
    sys.exit(f"hitpath: error: {error}")
"""


def spawn(port=0):
    command = [sys.executable, "-c", SCRIPT, str(port)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=signals_as_usual)


class Process:
    """A server that is ready, and the lines that it said before."""

    def __init__(self):
        self.process = spawn()
        self.events, self.loading, self.ready = (self.process.stderr.readline() for _ in range(3))
        self.port = int(self.ready.split("127.0.0.1:")[1].split("/")[0])
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, **body):
        sent = json.dumps({"ignore_eos": True, **body})
        self.connection.request("POST", TEXT, sent, {"Content-Type": "application/json"})
        return self.connection.getresponse()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.connection.close()


@pytest.fixture
def server():
    made = Process()
    yield made
    made.close()


def replayed(endpoint):
    """All events so far."""
    context = zmq.Context()
    dealer = context.socket(zmq.DEALER)
    dealer.connect(endpoint)
    dealer.send_multipart([b"", bytes(8)])
    found = []
    while dealer.poll(5000):
        _, _, number, payload = dealer.recv_multipart()
        if number == b"\xff" * 8:
            break
        found += msgspec.msgpack.decode(payload)[1]
    context.destroy(linger=0)
    return found


def test_from_its_first_line_to_its_last(server):
    assert server.events.startswith("hitpath: KV events at tcp://127.0.0.1:")
    assert server.loading == "hitpath: loading a small random model\n"
    assert server.ready.startswith(f"hitpath: tiny at http://127.0.0.1:{server.port}/v1 · KV cache")
    assert "8,192 tokens (512 blocks of 16, 16 MiB) · ready in" in server.ready
    assert (
        json.loads(server.ask(prompt="x" * 40, max_tokens=9).read())["usage"]["total_tokens"] == 49
    )
    stored = replayed(server.events.split("replay at ")[1].strip())
    assert {event["type"] for event in stored} == {"BlockStored"}
    assert sum(len(event["token_ids"]) for event in stored) == 48  # the 49th has no KV
    response = server.ask(prompt="y", max_tokens=600, stream=True)
    assert response.read(10)
    server.process.send_signal(signal.SIGTERM)
    text = response.read().decode()
    assert text.endswith("data: [DONE]\n\n")
    assert '"completion_tokens":600' in text
    assert server.process.wait(timeout=30) == 0
    rest = server.process.stderr.read()
    assert rest == "hitpath: stopping: 1 open request to finish (again: at once)\n"


def test_the_second_interrupt_ends_it_at_once(server):
    server.ask(prompt="x", max_tokens=4000, stream=True).read(10)
    server.process.send_signal(signal.SIGINT)
    assert "stopping" in server.process.stderr.readline()
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=10) == 130
    assert server.process.stderr.read() == ""


def test_a_port_in_use_is_one_line(server):
    other = spawn(server.port)
    _, said = other.communicate(timeout=60)
    assert len(said.splitlines()) == 1
    assert "in use by another program" in said
