"""Rows that a machine of known efficiencies would measure, for fits."""

import json
from pathlib import Path

from hitpath.cost.formats import Formats
from hitpath.cost.hardware import load_hardware
from hitpath.cost.model_table import load_shape
from hitpath.cost.paths import hit_path, miss_path, replica_of, tpot_s

MODEL, HARDWARE = "llama-3.1-8b", "h100-sxm"
TRUTH = "compute=0.6,memory=0.75,overhead_s=0.003"
CASES = [(512, 0, None), (4096, 0, None), (16384, 0, None), (4096, 4032, 128), (16384, 16320, 128)]
"""(prompt tokens, cached tokens, output tokens or None)."""


def measured_rows(path: Path) -> Path:
    """A file with a row for each of CASES, as TRUTH would take."""
    true = replica_of(load_shape(MODEL), load_hardware(HARDWARE), 1, Formats(), TRUTH)
    made = []
    for prompt, cached, output in CASES:
        ttft = hit_path(true, prompt, cached).ttft_s if cached else miss_path(true, prompt).ttft_s
        row = {"prompt_tokens": prompt, "cached_tokens": cached, "ttft_s": ttft}
        if output:
            row |= {"tpot_s": tpot_s(true, prompt, output), "output_tokens": output}
        made.append(row)
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path
