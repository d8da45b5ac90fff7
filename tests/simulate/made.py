"""What the simulator could have answered, made by hand: for tests of what is built on it."""

from typing import Any

import numpy as np

from hitpath.core import ABSENT
from hitpath.sim.serving.records import Samples, ServingOutcome, WorkerTotals
from hitpath.summary.serving import Served

NAN = float("nan")


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def made_outcome(**changed: Any) -> ServingOutcome:
    """Five requests on two workers: three served (one of a single token), one refused, one whose
    worker failed while it decoded. Caches of 10 blocks of 16 tokens."""
    hit = ints(0, 32, 16, 0, 0)
    fields: dict[str, Any] = {
        "sent_s": floats(0, 1, 2, 3, 4),
        "admit_s": floats(0, 1.5, 2, NAN, 4),
        "first_token_s": floats(0.5, 2.0, 2.25, NAN, 5),
        "finish_s": floats(4.5, 6.0, 2.25, NAN, NAN),
        "worker": ints(0, 1, 0, ABSENT, 1),
        "decode_worker": np.full(5, ABSENT),
        "hit_tokens": hit,
        "hit_host_tokens": ints(0, 16, 0, 0, 0),
        "hit_remote_tokens": ints(0, 0, 0, 0, 0),
        "granted": np.stack([hit, hit, hit + ints(0, 0, 16, 0, 0), hit + ints(0, 0, 32, 0, 0)]),
        "believed_match": ints(0, 48, 16, ABSENT, 0),
        "num_preemptions": ints(0, 1, 0, 0, 0),
        "computed_tokens": ints(64, 40, 80, 0, 64),
        "recomputed_tokens": ints(0, 8, 0, 0, 0),
        "ending": ints(0, 0, 0, 1, 3),
        "per_worker": WorkerTotals(
            capacity_blocks=ints(10, 10),
            busy_s=floats(3.0, 4.5),
            num_steps=ints(5, 9),
            computed_tokens=ints(150, 120),
            output_tokens=ints(10, 9),
            evicted_blocks=ints(3, 0),
            peak_blocks=ints(8, 9),
            longest_queue=ints(0, 1),
            num_preemptions=ints(0, 1),
            waiting_integral=floats(0.0, 0.5),
            running_integral=floats(4.75, 6.5),
            used_integral=floats(12.0, 24.0),
        ),
        "samples": Samples(
            interval_s=1.0,
            time_s=floats(1, 2, 3, 4, 5, 6),
            waiting=np.array([[0, 1], [0, 1], [0, 0], [0, 0], [0, 1], [0, 0]]),
            running=np.array([[1, 0], [1, 1], [1, 1], [1, 1], [0, 2], [0, 2]]),
            used_blocks=np.array([[4, 0], [4, 5], [4, 5], [4, 5], [0, 9], [0, 9]]),
            cached_blocks=np.zeros((6, 2), dtype=np.int64),
            told_waiting=np.zeros((6, 2), dtype=np.int64),
            told_used_blocks=np.array([[0, 0], [4, 0], [4, 5], [4, 5], [4, 5], [0, 9]]),
        ),
        "queue_time_s": floats(11.5, 0.5),
        "use_time_s": floats(3, 0, 0, 0, 3, 3, 0, 0, 0, 3, 0),
        "stage_start_s": np.zeros(0),
        "end_s": 6.0,
        "ttft_constant_s": 0.0,
    }
    return ServingOutcome(**{**fields, **changed})


def made_served(outcome: ServingOutcome | None = None, stage: Any = None) -> Served:
    """The requests of `made_outcome`: prompts of 64 to 96 tokens."""
    return Served(
        outcome=outcome or made_outcome(),
        prompt_tokens=ints(64, 64, 96, 64, 64),
        output_tokens=ints(9, 5, 1, 7, 7),
        stage=np.full(5, ABSENT) if stage is None else stage,
        worker_names=("worker 0", "worker 1"),
        roles=("both", "both"),
        block_size=16,
    )
