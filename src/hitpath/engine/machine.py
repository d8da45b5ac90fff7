"""What this machine is: processor, cores, memory, last-level cache, load.

No host name, user or path: a hardware file may be shown to others. Linux tells all of it under
/proc and /sys; elsewhere what is not told is None.
"""

import os
import platform
from pathlib import Path

import numpy as np

_CPUS = Path("/sys/devices/system/cpu")
_CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """The processor's name as the system tells it, with the cores that may be used."""
    name = platform.processor() or platform.machine() or "processor not told"
    if _CPUINFO.exists():
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
        named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = named[0] if named else name
    cores = num_cores()
    return f"{name}, {cores} core{'s' if cores > 1 else ''}"


def operating_system() -> str:
    """Name and release of the system."""
    return f"{platform.system()} {platform.release()}"


def num_cores() -> int:
    """Logical cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int | None:
    """Physical memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def load_average() -> float | None:
    """Processes that ran or waited to run, mean of the last minute."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def last_level_cache_bytes(cpus: Path = _CPUS) -> int | None:
    """Of all caches of the highest level together: a server has one for every few cores."""
    found: dict[tuple[int, str], int] = {}
    for index in cpus.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            level = int((index / "level").read_text())
            shared = (index / "shared_cpu_list").read_text().strip()
            size = (index / "size").read_text().strip()
            found[level, shared] = int(size.removesuffix("K")) << 10
        except (OSError, ValueError):
            continue
    highest = max((level for level, _ in found), default=None)
    if highest is None:
        return None
    return sum(size for (level, _), size in found.items() if level == highest)


def numpy_blas() -> str:
    """The library that numpy's matrix products run in, as numpy was built."""
    config = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {}) if isinstance(config, dict) else {}
    return f"{blas.get('name', 'not told')} {blas.get('version', '')}".strip()
