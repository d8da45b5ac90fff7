"""Decoding of many requests: a row a request, numpy arrays in and out (see path_rows)."""

import numpy as np
from numpy.typing import NDArray

from hitpath.cost.path_rows import ARRAYS
from hitpath.cost.paths import Replica

Floats = NDArray[np.float64]


def step_seconds(replica: Replica, context_tokens: NDArray[np.int64], batch: int) -> Floats:
    """Seconds of one decode step for `batch` requests that all have this context, their new token
    included: paths.decode_step of each row. Contexts are at least 1."""
    work, roofline = replica.work, replica.roofline
    held = np.asarray(context_tokens, dtype=np.float64) - 1
    one = np.ones_like(held)
    fixed = roofline.matrix_seconds(work.head.step(batch, ARRAYS), ARRAYS)
    for kernel in work.linear_step(batch, ARRAYS):
        fixed = fixed + roofline.matrix_seconds(kernel, ARRAYS)
    if roofline.link_bytes_per_s is not None:
        fixed = fixed + work.sent_bytes(batch) / roofline.link_bytes_per_s
    seconds: Floats = np.full_like(held, float(fixed) + roofline.step_overhead_s)
    for layers, mixer in work.attention:
        forms = [form.times(layers * batch) for form in mixer.step(held, one, ARRAYS)]
        seconds += np.minimum.reduce([roofline.attention_seconds(f, ARRAYS) for f in forms])
    return seconds
