"""What does an engine's own log say? A rate, its window and what it is weighted by.

$ python examples/engine_log.py
75.0 % of prompt tokens hit in the engine's own cache
window: the last 1,000 requests before 11-10 11:43:00
weighted by tokens from vLLM 0.9, by blocks before
hit tokens: None
"""

import tempfile
from pathlib import Path

import hitpath

# Two lines as vLLM's V1 engine prints them, ten seconds apart.
LINE = (
    "INFO 11-10 {} [loggers.py:127] Engine 000: Avg prompt throughput: 812.3 tokens/s, "
    "Avg generation throughput: 90.1 tokens/s, Running: 2 reqs, Waiting: 0 reqs, "
    "GPU KV cache usage: 3.1%, Prefix cache hit rate: {}%\n"
)

with tempfile.TemporaryDirectory() as folder:
    log = Path(folder) / "vllm.log"
    log.write_text(LINE.format("11:42:50", "60.0") + LINE.format("11:43:00", "75.0"))
    found = hitpath.observe(log)

assert found.hit_rate == 0.75
print(found.answer)
[rate] = found.rates.to_pylist()
print("window:", rate["window"])
print("weighted", rate["weighting"])
print("hit tokens:", rate["hit"])  # a log prints a rate and no counts
