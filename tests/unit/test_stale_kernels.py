"""A kernel is compiled again when one that it calls has changed, though its own file has not."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
CALLED = """
from hitpath._jit import kernel


@kernel
def price(tokens):
    return tokens * {factor}
"""
CALLING = """
from hitpath._jit import kernel
from called_kernel import price


@kernel
def total(tokens):
    return price(tokens) + 1
"""
OUTER = """
from hitpath._jit import kernel
from calling_kernel import total


@kernel
def outer(tokens):
    return total(tokens)


print(outer(10))
"""


def run_outer(folder):
    ended = subprocess.run(
        [sys.executable, "-c", "import outer_kernel"],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{SOURCE}{os.pathsep}{folder}",
            "NUMBA_CACHE_DIR": str(folder / "kept"),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return int(ended.stdout)


def test_a_change_two_files_away_is_seen(tmp_path):
    (tmp_path / "called_kernel.py").write_text(CALLED.format(factor=2))
    (tmp_path / "calling_kernel.py").write_text(CALLING)
    (tmp_path / "outer_kernel.py").write_text(OUTER)
    assert run_outer(tmp_path) == 21
    assert list((tmp_path / "kept").rglob("*.nbc")), "nothing was kept, so nothing is tested"
    assert run_outer(tmp_path) == 21
    (tmp_path / "called_kernel.py").write_text(CALLED.format(factor=3))
    assert run_outer(tmp_path) == 31
