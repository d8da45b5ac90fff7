"""The simulator's model of hitpath's cache, driven by what a served engine did and answered.

The model (`sim/models/own_engine.py`) shares no code with the engine. It is told who was admitted
when and which tokens were sampled, and says by itself what is hit, whether there is room, who has
to go for it, and how many blocks are free, cached and used.
"""

import json
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection

from hitpath.engine.events import Admitted, Evicted, Preempted, RequestDone, StepDone
from hitpath.sim.models.contract import Request
from hitpath.sim.models.own_engine import OwnModel, OwnSettings

TEXT = "/v1/completions"


def asked(port, path, body):
    """(id, usage, token ids of each choice) of a request, streamed or not."""
    body = {"temperature": 0, "ignore_eos": True, "return_token_ids": True, **body}
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
    assert response.status == 200, answer
    if body.get("stream"):
        lines = [line[6:] for line in answer.splitlines() if line.startswith(b"data: {")]
    else:
        lines = [answer]
    events = [json.loads(line) for line in lines]
    outputs = [[] for _ in range(body.get("n", 1))]
    for event in events:
        for choice in event["choices"]:
            outputs[choice["index"]] += choice.get("token_ids") or []
    return events[-1]["id"], events[-1]["usage"], outputs


def letters(draw, count):
    return [ord(letter) for letter in draw.choices("abcdefgh ", k=count)]


def model_of(settings):
    """Of the same size, block and policy as an engine with these settings."""
    return OwnModel(OwnSettings(settings.num_blocks, settings.block_size, settings.eviction))


def alone(model, request, output):
    """Hit tokens of a request that runs alone; its last token is sampled and never computed."""
    hit = model.admit(request)
    assert hit is not None, "one request alone has no room"
    model.processed(request.number)
    for token in output[:-1]:
        model.generate(request.number, [token])
        assert model.extend(request.number, 1)
        model.processed(request.number)
    model.finish(request.number)
    model.check()
    return hit.tokens


@dataclass
class Choice:
    """One choice of a request: what was sent, what was sampled, how far it is."""

    request: Request
    output: list[int]
    told: int = 0
    left: int = 0
    decodes: bool = False


@dataclass
class Step:
    """What the engine said of one step, in its order."""

    planned: list[Admitted | Preempted] = field(default_factory=list)
    evicted_tokens: int = 0
    ended: list[tuple[str, int]] = field(default_factory=list)
    done: StepDone | None = None


def steps_of(records):
    """The records, one Step each."""
    steps = [Step()]
    for record in records:
        step = steps[-1]
        if isinstance(record, Admitted | Preempted):
            assert not step.ended
            step.planned.append(record)
        elif isinstance(record, Evicted):
            step.evicted_tokens += len(record.hits) * record.block_size
        elif isinstance(record, RequestDone):
            step.ended.append((record.request_id, record.choice))
        elif isinstance(record, StepDone):
            step.done = record
            steps.append(Step())
    assert steps.pop() == Step(), "something happened behind the last step"
    return steps


class Follower:
    """Goes through the steps: a budget of tokens, decodes first in their order of admission, then
    prompts under way in chunks, then admissions. `choices`: by request id and number."""

    def __init__(self, settings, choices):
        self.model, self.budget = model_of(settings), settings.max_batch_tokens
        self.choices = choices
        self.running, self.hits, self.counts = [], {}, Counter()

    def follow(self, step):
        """One step, compared with what the engine said of it."""
        planned, left = list(step.planned), self.budget
        for name in list(self.running):
            if self.choices[name].decodes and name in self.running:
                left -= self._grown(name, planned)
        num_decodes = self.budget - left
        for name in self.running:
            choice = self.choices[name]
            new = 0 if choice.decodes else min(choice.left, left)
            assert self.model.extend(choice.request.number, new)
            choice.left, left = choice.left - new, left - new
        for record in planned:
            left -= self._admitted(record, left)
        self._computed(step)
        said = step.done
        assert (said.num_decodes, said.num_prefill_tokens) == (
            num_decodes, self.budget - left - num_decodes)  # fmt: skip
        self._compare(step)

    def _grown(self, name, planned):
        """1, or 0 where it had to give up its own room. Who goes is the one admitted last."""
        number = self.choices[name].request.number
        while not self.model.extend(number, 1):
            last = self.running[-1]
            record = planned.pop(0)
            assert (record.request_id, record.choice) == last, "another one was preempted"
            self._preempt(last)
            if last == name:
                return 0
        return 1

    def _preempt(self, name):
        self.running.remove(name)
        self.model.preempt(self.choices[name].request.number)
        self.choices[name].decodes = False
        self.counts["preempted"] += 1

    def _admitted(self, record, budget):
        assert isinstance(record, Admitted), "preempted without need"
        name = record.request_id, record.choice
        choice = self.choices[name]
        length = len(choice.request.tokens) + choice.told
        found = self.model.lookup(choice.request).tokens
        new = min(length - found, budget)
        hit = self.model.admit(choice.request, new)
        assert hit is not None, "admitted where the model has no room"
        assert hit.tokens == record.cached_tokens
        assert record.resumed == (name in self.hits)
        self.counts["resumed"] += record.resumed
        self.hits.setdefault(name, hit.tokens)
        choice.left = length - hit.tokens - new
        self.running.append(name)
        return new

    def _computed(self, step):
        for name in self.running:
            choice = self.choices[name]
            self.model.processed(choice.request.number)
            if not choice.left:
                token = choice.output[choice.told]
                choice.told, choice.decodes = choice.told + 1, True
                if choice.told < len(choice.output):
                    self.model.generate(choice.request.number, [token])
        for name in step.ended:
            assert self.choices[name].told == len(self.choices[name].output)
            self.running.remove(name)
            self.model.finish(self.choices[name].request.number)

    def _compare(self, step):
        gone = sum(eviction.num_tokens for eviction in self.model.take_evictions())
        assert gone == step.evicted_tokens
        self.counts["evicted"] += gone
        self.model.check()
        stands, said = self.model.occupancy(), step.done
        assert (said.used_blocks, said.cached_blocks, said.free_blocks) == (
            stands.used, stands.cached, stands.free)  # fmt: skip
