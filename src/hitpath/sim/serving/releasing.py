"""A request gives back its blocks for good."""

from hitpath.sim.serving.admission import shared_blocks
from hitpath.sim.serving.bare import bare_kernel
from hitpath.sim.serving.cache import pin, release
from hitpath.sim.serving.layout import Engine
from hitpath.sim.serving.tiers import write_down


@bare_kernel
def free_job(engine: Engine, w: int, j: int, path: int) -> None:
    """The job's blocks go back; those that others can find stay, and are written down."""
    c = engine.caches
    job = c.jobs[j]
    pin(c, w, j, path, shared_blocks(c, path, job.computed), True)
    job.late_tokens = 0
    kept = job.pinned
    release(c, w, j, path)
    write_down(c, w, path, kept)
