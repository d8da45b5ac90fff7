"""What an engine prints once, when it starts, and what statistics are read by: version, size of
the cache, whether prefix caching is on.

vLLM: v1/engine/core.py ("Initializing a V1 LLM engine (v0.11.0) with config: …,
enable_prefix_caching=True, …"), v1/core/kv_cache_utils.py ("GPU KV cache size: 686,320 tokens").
SGLang: server_args=ServerArgs(…, page_size=1, …, disable_radix_cache=False, …) and
"max_total_num_tokens=665690, chunked_prefill_size=8192, …" (managers/scheduler.py).
"""

import re

from hitpath.traces.engine_logs.lines import number
from hitpath.traces.engine_logs.records import Findings

_VERSION = re.compile(rb"LLM engine \(v(\d{1,4})\.(\d{1,4})([\w.+-]{0,60})\)")
_CACHING = re.compile(rb"enable_prefix_caching=(True|False|None)")
_SIZE = re.compile(rb"GPU KV cache size: ([\d,]{1,20}) tokens")
_POOL = re.compile(rb"max_total_num_tokens=(\d{1,15})")
_RADIX = re.compile(rb"disable_radix_cache=(True|False)")
_PAGE = re.compile(rb"page_size=(\d{1,6})\b")
_CHUNK = re.compile(rb"chunked_prefill_size=(\d{1,9})\b")
_ANY = (b"LLM engine (v", b"prefix_caching", b"GPU KV cache size", b"max_total_num", b"radix_cache")


class StartUp:
    """Collects one source's lines. version: vLLM's (major, minor) if told; page_size: SGLang's."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.version: tuple[int, int] | None = None
        self.page_size: int | None = None

    def feed(self, place: str, line: bytes) -> bool:
        """Whether the line told something."""
        if not any(word in line for word in _ANY):
            return False
        return self._vllm(place, line) | self._sglang(place, line)

    def _vllm(self, place: str, line: bytes) -> bool:
        version, caching, size = (p.search(line) for p in (_VERSION, _CACHING, _SIZE))
        fact = self._findings.fact
        if version:
            self.version = (int(version[1]), int(version[2]))
            text = b"%s.%s%s" % (version[1], version[2], version[3])
            fact("vllm", "version", text.decode(), place)
        if caching and caching[1] != b"None":
            prefix_caching(self._findings, "vllm", caching[1] == b"True", place)
        if size and size[1].replace(b",", b""):
            fact("vllm", "KV cache", f"{number(size[1]):,.0f} tokens", place)
        return any((version, caching, size))

    def _sglang(self, place: str, line: bytes) -> bool:
        pool, radix, chunk = (p.search(line) for p in (_POOL, _RADIX, _CHUNK))
        fact = self._findings.fact
        if pool:
            fact("sglang", "KV cache", f"{int(pool[1]):,} tokens", place)
        if chunk:
            fact("sglang", "prefill chunk", f"{int(chunk[1]):,} tokens", place)
        if radix:
            prefix_caching(self._findings, "sglang", radix[1] == b"False", place)
            page = _PAGE.search(line)
            if page:
                self.page_size = int(page[1])
                fact("sglang", "page size", f"{self.page_size:,} tokens", place)
        return any((pool, radix, chunk))


def prefix_caching(findings: Findings, engine: str, is_on: bool, place: str) -> None:
    """The fact, and the warning that goes with it."""
    findings.fact(engine, "prefix caching", "on" if is_on else "off", place)
    if not is_on:
        findings.trap("Prefix caching is off on this server: nothing can hit, whatever is asked")
