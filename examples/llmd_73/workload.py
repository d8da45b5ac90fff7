"""The report's load: 750 prompts in one shuffled order, which every stage starts again.

Requests are rows of the simulator; the same load can be written as a hitpath trace. No two replies
are equal: their blocks stay cached as all others do, push out prompts, and nobody ever hits them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT
from hitpath.index.forest import Forest, build_forest
from hitpath.sim.serving.records import Arrivals, Requests
from llmd_73.measured import Measured
from llmd_73.settings import Experiment, Stage

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Symbols = NDArray[np.uint64]

_ROUTER_BLOCK_TOKENS = 16
"""The estimating index hashes 64 bytes of text, about 16 tokens."""
_ROUTER_BLOCKS = 256


@dataclass(frozen=True, slots=True)
class Workload:
    """One entry a request. stage: 0 is the warm-up. prompt: which of the 750. engine_forest: the
    prompts, then each request's prompt and reply. router_forest: the prompts."""

    experiment: Experiment
    stages: tuple[Stage, ...]
    stage: Ints
    prompt: Ints
    time_s: Floats
    engine_forest: Forest
    router_forest: Forest

    @property
    def num_requests(self) -> int:
        return len(self.stage)

    def requests(self) -> Requests:
        """As the simulator takes them."""
        n = self.num_requests
        prompts = self.experiment.load.num_prompts
        tokens = self.experiment.prompt_tokens
        group = self.prompt // self.experiment.load.users_per_group
        output = np.full(n, self.experiment.load.output_tokens)
        return Requests(
            end_node=self.engine_forest.end[:prompts][self.prompt],
            prompt_tokens=np.full(n, tokens),
            whole_blocks=np.full(n, tokens // self.experiment.pods.block_tokens),
            output_tokens=output,
            output_end_node=self.engine_forest.end[prompts:],
            router_end_node=self.router_forest.end[self.prompt],
            session=self.prompt.astype(np.uint64) + np.uint64(1),
            prefix_hash=(group + 1).astype(np.uint64),
            expected_output_tokens=output,
        )

    def arrivals(self) -> Arrivals:
        """Open loop within a stage; a stage waits for the one before."""
        n = self.num_requests
        absent = np.full(n, ABSENT)
        return Arrivals(self.time_s, absent, np.zeros(n), self.stage, drain=True)


def build_workload(
    experiment: Experiment,
    scheduler: str,
    measured: dict[tuple[str, float], Measured],
    seed: int,
) -> Workload:
    """Poisson arrivals of a stage, stretched to the send rate that the report achieved there (to
    the offered rate where it is not told). The seed draws the order of the prompts too."""
    load = experiment.load
    rng = np.random.default_rng(seed)
    order = rng.permutation(load.num_prompts)
    stages = (load.warm_up, *load.stages)
    times, prompts = [], []
    for number, stage in enumerate(stages):
        row = measured.get((scheduler, float(stage.rate))) if number else None
        rate = stage.rate if row is None else row.requests_per_s
        gaps = rng.exponential(size=stage.num_requests)
        at = np.cumsum(gaps) - gaps[0]
        times.append(at * (stage.num_requests / rate / at[-1]))
        prompts.append(order[np.arange(stage.num_requests) % load.num_prompts])
    prompt = np.concatenate(prompts)
    return Workload(
        experiment,
        stages,
        np.repeat(np.arange(len(stages)), [stage.num_requests for stage in stages]),
        prompt,
        np.concatenate(times),
        _engine_forest(experiment, prompt),
        _router_forest(experiment),
    )


def _blocks(experiment: Experiment, block_tokens: int, length: int) -> Symbols:
    """[prompts, length]. A block belongs to the group where all of it lies in its prefix."""
    load = experiment.load
    prompt = np.arange(load.num_prompts)[:, None]
    place = np.arange(length)[None, :]
    of_group = place < experiment.prefix_tokens // block_tokens
    owner = np.where(of_group, prompt // load.users_per_group, load.groups + prompt)
    return (owner * length + place).astype(np.uint64)


def _router_forest(experiment: Experiment) -> Forest:
    """The prompts, as far as the estimating index looks."""
    prompts = _blocks(experiment, _ROUTER_BLOCK_TOKENS, _ROUTER_BLOCKS)
    return _forest([prompts])


def _engine_forest(experiment: Experiment, prompt: Ints) -> Forest:
    """The prompts in whole blocks, then what each request leaves behind: its prompt with its own
    reply, but for the last token, which has no KV."""
    block = experiment.pods.block_tokens
    tokens = experiment.prompt_tokens
    prompts = _blocks(experiment, block, tokens // block)
    num_own = (tokens + experiment.load.output_tokens - 1) // block - prompts.shape[1]
    own = np.arange(len(prompt) * num_own, dtype=np.uint64) + prompts.max() + np.uint64(1)
    return _forest([prompts, np.hstack([prompts[prompt], own.reshape(len(prompt), num_own)])])


def _forest(tables: list[Symbols]) -> Forest:
    """Rows are sequences under one root, of one length a table."""
    lengths = np.concatenate([np.full(len(table), table.shape[1]) for table in tables])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    symbols = np.concatenate([table.ravel() for table in tables])
    return build_forest(symbols, starts, lengths, np.zeros(len(lengths), dtype=np.int64))


def trace_rows(workload: Workload, start_s: Floats) -> Iterator[dict[str, object]]:
    """The load as rows of hitpath JSONL, each stage at its `start_s`; the stage is the tenant."""
    experiment = workload.experiment
    prefix = experiment.prefix_tokens
    question = experiment.prompt_tokens - prefix
    for row in range(workload.num_requests):
        stage, prompt = int(workload.stage[row]), int(workload.prompt[row])
        group = prompt // experiment.load.users_per_group
        name = "warm-up" if stage == 0 else f"{workload.stages[stage].rate}/s"
        yield {
            "id": f"{name} {row}",
            "arrival_s": round(float(start_s[stage] + workload.time_s[row]), 6),
            "segments": [[f"group {group}", prefix], [f"question {prompt}", question]],
            "output_tokens": experiment.load.output_tokens,
            "reply": f"reply {row}",
            "session": f"user {prompt}",
            "tenant": name,
        }


def write_trace(path: Path, workload: Workload, start_s: Floats) -> None:
    """The same load as a file that every command of hitpath reads."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in trace_rows(workload, start_s))
