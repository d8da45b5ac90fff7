"""Which lines of a log are ours, and what stands in front of a message: time and process.

A log is pasted as people paste: behind the names of containers, with several messages on one
line, cut off at both ends, of several runs. Nothing here depends on a line's beginning.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from hitpath.traces.sources import Input

_MOST_LINES = 20_000
_MOST_BYTES = 4 << 20
DAY_S = 86_400.0
_DISORDER_S = 60.0

_STATISTICS = re.compile(
    rb"Prefix cache hit rate: |Avg prompt throughput: |(?:Prefill|Decode) batch[^#\n]{0,64}#"
    rb"|^(?:# (?:HELP|TYPE) )?(?:ray_)?(?:vllm|sglang)[:_]\w+(?:\{| )"
)
_REQUESTS = re.compile(rb"prompt_token_ids: \[|Received request [^\n]{1,200}?: prompt: (?!None)")
_JSON = re.compile(rb"\s*(?:\{|\[\s*(?:$|[\[{\"\]]))")
_TIME = re.compile(rb"(?<![\d-])((?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d)")
_PROCESS = re.compile(
    rb"\(([^()\n]{0,60}\bpid=\d+[^()\n]{0,60})\)(?:\x1b\[[\d;]{0,9}m)?\s*(?:INFO|DEBUG|WARNING)\b"
)
_CONTAINER = re.compile(rb"([\w.-]{1,64})\s{1,64}\|\s")
"""docker compose pads names to the longest. It is looked for once a statistic, of which a line may
hold thousands: bounded, so that blanks are not walked over again and again."""


def is_engine_log(source: Input) -> bool:
    """Whether a source is an engine's log or metrics with statistics in its first lines, and no
    log of requests (which a trace can be made of). Reads ahead; the lines stay with the source."""
    found, read = False, 0
    for i, (_, line) in enumerate(source.peek()):
        if (i == 0 and _JSON.match(line)) or _REQUESTS.search(line):
            return False
        found = found or _STATISTICS.search(line) is not None
        read += len(line)
        if i + 1 >= _MOST_LINES or read >= _MOST_BYTES:
            break
    return found


def time_in(text: bytes) -> str | None:
    """The last time that stands in a piece of a line, as it is written there."""
    times = _TIME.findall(text)
    return times[-1].decode() if times else None


def seconds_of(at: str | None) -> float | None:
    """A time's seconds, for distances only (vLLM's log writes no year); None for no such date."""
    if at is None:
        return None
    try:
        moment = datetime.fromisoformat(at if at[4:5] == "-" else f"2000-{at}")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp()


@dataclass(slots=True)
class Times:
    """From when to when lines are, and the longest time without one."""

    begin: str | None = None
    end: str | None = None
    end_s: float | None = None
    longest_gap_s: float = 0.0
    gap: tuple[str, str] = ("", "")
    went_back: bool = False

    def add(self, at: str | None, at_s: float | None) -> None:
        """One more line; without a time it stands where the last one stood."""
        if at is None:
            return
        if self.end_s is not None and at_s is not None:
            gap_s = at_s - self.end_s
            self.went_back = self.went_back or self.goes_back(at, at_s)
            if gap_s > self.longest_gap_s:
                self.longest_gap_s, self.gap = gap_s, (self.end or "", at)
        self.begin = at if self.begin is None else self.begin
        self.end, self.end_s = at, at_s

    def goes_back(self, at: str | None, at_s: float | None) -> bool:
        """Whether a time is earlier than that of the line above: another run. December to January
        is no step back where the year is not told."""
        if at is None or at_s is None or self.end is None or self.end_s is None:
            return False
        if at_s >= self.end_s - _DISORDER_S:
            return False
        return not (self.end.startswith("12-") and at.startswith("01-"))


def process_of(line: bytes, begin: int, end: int) -> str:
    """Who wrote the message whose head is `line[begin:end]`: container and process, "" if
    untold."""
    processes = _PROCESS.findall(line, begin, end)
    names = [container_of(line), *(name.decode("utf-8", "replace") for name in processes[-1:])]
    return " ".join(filter(None, names))


def container_of(line: bytes) -> str:
    """The name that docker compose puts before a line, "" if untold."""
    container = _CONTAINER.match(line)
    return container[1].decode("utf-8", "replace") if container else ""


def number(text: bytes) -> float:
    """Digits and one point, as a regular expression has found them."""
    return float(text.replace(b",", b""))


def decimals_of(text: bytes) -> int:
    """How many decimals a number is printed with."""
    return len(text.partition(b".")[2])
