"""Kernels where their compiled form cannot be kept: compiled anew, and the same answers."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import numpy as np
import pytest

from hitpath._jit import kernel
from hitpath.keys import block_keys

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import numpy as np
from hitpath.keys import block_keys
from hitpath.report.run import announce_compilation

announce_compilation()
print(block_keys(np.arange(64, dtype=np.uint32), 16, 0).tolist())
"""


def read_only_install(folder: Path) -> Path:
    """The package where no compiled form can be put beside it: permissions do not hold for root,
    who runs many tests, so a file stands where the folder would be made."""
    source = folder / "src"
    copytree(ROOT / "src" / "hitpath", source / "hitpath", ignore=ignore_patterns("__pycache__"))
    for place in (source / "hitpath", *(p for p in source.rglob("*") if p.is_dir())):
        (place / "__pycache__").touch()
    return source


def keys_of(source: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A few kernels, with what a command says before it compiles."""
    return subprocess.run(
        [sys.executable, "-c", CODE],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(source), **environment},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize(
    "nowhere",
    [{"HOME": os.devnull}, {"HOME": "/proc/nowhere", "NUMBA_CACHE_DIR": "/proc/nowhere"}],
    ids=lambda v: "+".join(v),
)
def test_without_any_folder_kernels_are_compiled_by_each_run(tmp_path, nowhere):
    """numba raised "cannot cache function: no locator available" on import."""
    ended = keys_of(read_only_install(tmp_path), XDG_CACHE_HOME=os.devnull, **nowhere)
    assert ended.stdout == f"{block_keys(np.arange(64, dtype=np.uint32), 16, 0).tolist()}\n"
    assert "in every run: no folder takes them; NUMBA_CACHE_DIR may name one" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_folder_that_is_named_keeps_them(tmp_path):
    source = read_only_install(tmp_path)
    kept = {
        "HOME": os.devnull,
        "XDG_CACHE_HOME": os.devnull,
        "NUMBA_CACHE_DIR": str(tmp_path / "c"),
    }
    first, second = (keys_of(source, **kept) for _ in range(2))
    assert "first run only" in first.stderr
    assert second.stderr == ""
    for index in (tmp_path / "c").rglob("*.nbi"):
        index.write_bytes(b"damaged")
    third, fourth = (keys_of(source, **kept) for _ in range(2))
    assert third.stdout == fourth.stdout == first.stdout
    assert (third.stderr, fourth.stderr) == ("", "")
    assert not any(path.read_bytes() == b"damaged" for path in (tmp_path / "c").rglob("*.nbi"))


def test_a_full_disk_costs_a_compilation_and_no_more(monkeypatch):
    compiled = kernel(_twice)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled._cache._cache, "_save_overload", full)
    assert compiled(2**40) == 2**41
    assert compiled(1.5) == 3.0


def _twice(value: float) -> float:
    return value + value
