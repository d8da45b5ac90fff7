"""Every engine model, small, and a seeded driver that serves random requests with each."""

import random
from dataclasses import dataclass

from hitpath.sim.models.contract import Media, Request
from hitpath.sim.models.llamacpp import LlamaModel, LlamaSettings
from hitpath.sim.models.own_engine import OwnModel, OwnSettings
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.sglang_rules import SglangSettings
from hitpath.sim.models.trtllm import TrtModel, TrtSettings
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_rules import LayerGroup, VllmSettings

B = 4
FULL, WINDOW = LayerGroup("full", B), LayerGroup("window", B, 9)

MODELS = {
    "vllm": lambda: VllmModel(VllmSettings(40, (FULL,))),
    "vllm 0.22": lambda: VllmModel(VllmSettings(40, (FULL,), version="0.22")),
    "vllm window": lambda: VllmModel(VllmSettings(80, (FULL, WINDOW))),
    "vllm state": lambda: VllmModel(VllmSettings(80, (FULL, LayerGroup("state", B)))),
    "vllm eagle": lambda: VllmModel(VllmSettings(40, (FULL,), drops_last_block=True)),
    "sglang": lambda: SglangModel(SglangSettings(160)),
    "sglang 0.5.18 lfu": lambda: SglangModel(SglangSettings(160, 4, "lfu", "0.5.18")),
    "sglang host": lambda: SglangModel(SglangSettings(160, 4, host_tokens=300, load_back_tokens=4)),
    "own": lambda: OwnModel(OwnSettings(40, B)),
    "own lfu": lambda: OwnModel(OwnSettings(40, B, "lfu")),
    "own priority": lambda: OwnModel(OwnSettings(40, B, "priority")),
    "trtllm": lambda: TrtModel(TrtSettings(40, B)),
    "trtllm whole": lambda: TrtModel(TrtSettings(40, B, partial_reuse=False)),
    "llamacpp": lambda: LlamaModel(LlamaSettings(4, 400)),
    "llamacpp host": lambda: LlamaModel(LlamaSettings(4, 400, host_tokens=300)),
    "llamacpp unified": lambda: LlamaModel(LlamaSettings(4, 300, host_tokens=300, unified=True)),
}
LARGE = {
    "vllm": (lambda: VllmModel(VllmSettings(2000, (FULL,))), B, 0),
    "vllm window dense": (
        lambda: VllmModel(VllmSettings(2000, (FULL, WINDOW), version="0.28")),
        B,
        0,
    ),
    "vllm eagle": (lambda: VllmModel(VllmSettings(2000, (FULL,), drops_last_block=True)), B, B),
    "sglang": (lambda: SglangModel(SglangSettings(9000)), 1, 0),
    "sglang page 4": (lambda: SglangModel(SglangSettings(9000, B)), B, 0),
    "own": (lambda: OwnModel(OwnSettings(2000, B)), B, 0),
    "trtllm": (lambda: TrtModel(TrtSettings(2000, B)), 1, 0),
    "trtllm whole": (lambda: TrtModel(TrtSettings(2000, B, partial_reuse=False)), B, 0),
    "llamacpp": (lambda: LlamaModel(LlamaSettings(1, 9000)), 1, 0),
}
"""(model, tokens that a hit is a multiple of, tokens that it gives back): room for everything."""


@dataclass
class Served:
    """What a run did: hits in order, evicted tokens, requests refused."""

    hits: list
    evicted: int = 0
    refused: int = 0
    preempted: int = 0


def random_request(rng, number, stems):
    stem = rng.choice(stems)
    tokens = stem[: rng.randint(0, len(stem))] + [
        rng.randrange(3) for _ in range(rng.randint(1, 9))
    ]
    media = ()
    if rng.random() < 0.1:
        media = (Media(rng.choice("xy"), rng.randrange(len(tokens)), 1),)
    context = rng.choice([None, None, None, "a"])
    return Request(
        number, tokens, context, media, reads_cache=rng.random() > 0.05, priority=rng.randrange(3)
    )


def serve(model, seed, steps, each=lambda: None):
    """Random traffic through the contract; `each` is called after every call that changes it."""
    rng = random.Random(seed)
    stems = [[rng.randrange(3) for _ in range(rng.randint(4, 60))] for _ in range(4)]
    served, waiting, running, preempted = Served([]), [], {}, set()
    number = 0

    def drop(victim, preempt):
        request, _ = running.pop(victim)
        if preempt:
            model.preempt(victim)
            waiting.insert(0, request)
            preempted.add(victim)
            served.preempted += 1
        else:
            model.finish(victim)

    for _ in range(steps):
        model.new_step()
        while len(waiting) < 3:
            waiting.append(random_request(rng, number, stems))
            number += 1
        for victim in list(running):
            model.processed(victim)
            each()
            request, left = running[victim]
            if not left:
                drop(victim, preempt=False)
            else:
                model.generate(victim, [rng.randrange(3)])
                if model.extend(victim, 1):
                    running[victim] = (request, left - 1)
                else:
                    drop(victim, preempt=True)
            each()
        while waiting and len(running) < 9:
            hit = model.admit(waiting[0])
            each()
            if hit is None:
                served.refused += 1
                if not running:  # it never fits
                    request = waiting.pop(0)
                    if request.number in preempted:
                        model.forget(request.number)
                break
            request = waiting.pop(0)
            served.hits.append((request.number, hit))
            running[request.number] = (request, rng.randint(0, 12))
        served.evicted += sum(eviction.num_tokens for eviction in model.take_evictions())
    for victim in list(running):
        drop(victim, preempt=False)
        each()
    for request in waiting:
        if request.number in preempted:
            model.forget(request.number)
    return served
