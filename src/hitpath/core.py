"""The nouns that every stage shares: settings, rungs, causes, and the error tree.

Errors (all of them end a command with exit code 2 and one line, never a traceback):

    HitpathError
    ├── InputError      a trace, or one row of it, is not what it should be: place, field, cause
    ├── SettingError    an option asks for what cannot be done: option, cause
    └── OutputError     a result could not be written: path, cause

Everything here is plain data; nothing reads files, hashes, or knows about numba.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any, Literal, get_args

ABSENT = -1
"""In integer columns of a trace: the file does not say. Never summed, exported as null."""

MAX_TOKENS = 1 << 40
"""No count of one request or setting is larger: sums over a million of them still fit."""

MAX_WORKERS = 100_000
DEFAULT_ROUTER: Literal["round-robin"] = "round-robin"

CAUSES = (
    "ineligible",
    "in_flight",
    "elsewhere",
    "evicted",
    "rounding",
    "isolated",
    "diverged",
    "cold",
)
"""The cause of the tokens that rung i first covers is CAUSES[i - 1] (docs: design, the ladder)."""

RUNG_NAMES = (
    "hit",
    "resident on the chosen worker",
    "or in flight there",
    "on the best worker",
    "ever computed, anywhere",
    "ever computed, token by token",
    "across salts and adapters",
    "in canonical form",
    "the whole prompt",
)
NUM_RUNGS = len(RUNG_NAMES)

EngineName = Literal["unlimited", "lru", "vllm", "sglang", "trtllm", "llamacpp", "hitpath"]
MODELLED_ENGINES = ("vllm", "sglang", "trtllm", "llamacpp", "hitpath")
"""Real engines, whose own rules are followed; version and settings may stand behind the name:
vllm@0.30:window=128 (sim/models/named.py)."""
OutputsRule = Literal["insert", "ignore"]
RouterName = Literal["random", "round-robin", "session", "prefix"]
ENGINES: tuple[str, ...] = get_args(EngineName)
OUTPUTS_RULES: tuple[str, ...] = get_args(OutputsRule)
ROUTERS: tuple[str, ...] = get_args(RouterName)
Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total); total 0 means unknown. Must not raise."""


_MOST_CHARACTERS = 300


def one_line(text: str) -> str:
    """Text from a file or a name, fit for a line of a terminal: what is not printable is
    escaped (line ends, control characters, lone surrogates), what is long loses its middle."""
    shown = printable(text if len(text) <= _MOST_CHARACTERS else _shortened(text))
    return shown if len(shown) <= _MOST_CHARACTERS else _shortened(shown)


def printable(text: str) -> str:
    """Text with whatever is not printable escaped, of any length."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def _shortened(text: str) -> str:
    half = _MOST_CHARACTERS // 2 - 1
    return f"{text[:half]} … {text[-half:]}"


def why_no_file(path: Path) -> str:
    """What to say of a path at which there is no file to read."""
    if path.is_dir():
        return "is a folder, not a file"
    return "is no file" if path.exists() else "no such file"


class HitpathError(Exception):
    """Base of all errors that a user can cause and mend; their text is one line."""


class InputError(HitpathError):
    """A trace file or a row of it cannot be used: `place` (file:line), `field`, `cause`."""

    def __init__(self, place: str, field: str, cause: str) -> None:
        place, field, cause = one_line(place), one_line(field), one_line(cause)
        super().__init__(f"{place}: {field}: {cause}" if field else f"{place}: {cause}")
        self.place = place
        self.field = field
        self.cause = cause


class SettingError(HitpathError):
    """An option cannot be honoured: `option` as typed, `cause`."""

    def __init__(self, option: str, cause: str) -> None:
        option, cause = one_line(option), one_line(cause)
        super().__init__(f"{option}: {cause}")
        self.option = option
        self.cause = cause


class OutputError(HitpathError):
    """A result file could not be written; whatever stood there before still does."""

    def __init__(self, path: str, cause: str) -> None:
        path, cause = one_line(path), one_line(cause)
        super().__init__(f"{path}: {cause}")
        self.path = path
        self.cause = cause


class ReaderGone(Exception):
    """Whoever read our standard output has gone (head, less): no error of anybody's. It is no
    OSError, for the command-line library ends with 1 on a broken pipe."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the analysis assumes about the engine and the fleet. Counts are tokens.

    `capacity_tokens` is per worker; None is an unlimited cache. `block_size` None takes the
    trace's own. `workers` and `router` are used only where the trace names no workers; several
    workers without a router get DEFAULT_ROUTER.
    """

    engine: EngineName | str = "unlimited"
    last_token: bool = False
    outputs: OutputsRule = "ignore"
    block_size: int | None = None
    capacity_tokens: int | None = None
    workers: int | None = None
    router: RouterName | None = None
    seed: int = 0
    split_models: bool = False
    sample_frac: float | None = None
    tokenizer: str | None = None

    def __post_init__(self) -> None:
        """Types are checked too: from Python anything may come in. Raises SettingError."""
        self._check_types()
        one_of("--engine", _plain_engine(self.engine), ENGINES)
        one_of("--outputs", self.outputs, OUTPUTS_RULES)
        if self.router is not None:
            one_of("--router", self.router, ROUTERS)
        _check_range("--block-size", self.block_size, MAX_TOKENS)
        _check_range("--capacity-tokens", self.capacity_tokens, MAX_TOKENS)
        _check_range("--workers", self.workers, MAX_WORKERS)
        if self.engine != "unlimited" and self.capacity_tokens is None:
            cause = "needs --capacity-tokens or --capacity-gib"
            raise SettingError(f"--engine {self.engine}", cause)
        if self.engine == "unlimited" and self.capacity_tokens is not None:
            raise SettingError("--engine unlimited", "has no capacity; use --engine lru")
        if self.is_modelled:
            object.__setattr__(self, "last_token", True)  # all of them compute it
        if self.workers is not None and self.workers > 1 and self.router is None:
            object.__setattr__(self, "router", DEFAULT_ROUTER)
        if self.router is not None and self.workers is None:
            raise SettingError("--router", "needs --workers N")
        if not 0 <= self.seed < 2**63:
            raise SettingError("--seed", "must be from 0 to 2**63 - 1")
        if self.sample_frac is not None and not 1e-6 <= self.sample_frac <= 0.5:
            cause = f"{self.sample_frac:g} is not from 0.000001 to 0.5; leave it out for all"
            raise SettingError("--sample", cause)

    @property
    def is_modelled(self) -> bool:
        """Whether a real engine's own rules are followed."""
        return _name_of(self.engine) in MODELLED_ENGINES

    def _check_types(self) -> None:
        """Numbers of numpy become Python's, which reports can write."""
        for name, option in (
            ("block_size", "--block-size"),
            ("capacity_tokens", "--capacity-tokens"),
            ("workers", "--workers"),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole_number(option, getattr(self, name)))
        object.__setattr__(self, "seed", whole_number("--seed", self.seed))
        for name, option in (("last_token", "--last-token"), ("split_models", "--split-models")):
            object.__setattr__(self, name, yes_or_no(option, getattr(self, name)))
        if self.sample_frac is not None:
            object.__setattr__(self, "sample_frac", real_number("--sample", self.sample_frac))
        if self.tokenizer is not None:
            _check_name("--tokenizer", self.tokenizer)


def _plain_engine(engine: str) -> str:
    """ "vllm" for "vllm@0.30:drop_last=yes"; whatever else comes in as it is."""
    if isinstance(engine, str) and _name_of(engine) in MODELLED_ENGINES:
        return _name_of(engine)
    return engine


def _name_of(engine: str) -> str:
    return engine.partition(":")[0].partition("@")[0]


def one_of(option: str, value: str, allowed: Sequence[str]) -> Any:
    """The word, if it is one of those allowed; else a SettingError that lists them."""
    if not isinstance(value, str):
        cause = f"{_kind_of(value)} is not one of {', '.join(allowed)}"
        raise SettingError(option, cause)
    if value not in allowed:
        raise SettingError(f"{option} {value}", f"not one of {', '.join(allowed)}")
    return value


def whole_number(option: str, value: object) -> int:
    """An integer of Python or numpy as Python's. Raises SettingError for anything else."""
    try:
        if not isinstance(value, bool):
            return index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise SettingError(option, f"{_kind_of(value)} is no whole number")


def real_number(option: str, value: object) -> float:
    """A number of Python or numpy as Python's. Raises SettingError for anything else."""
    try:
        if isinstance(value, Real) and not isinstance(value, bool):
            return float(value)
    except (OverflowError, ValueError):
        pass
    raise SettingError(option, f"{_kind_of(value)} is no number")


def yes_or_no(option: str, value: object) -> bool:
    """Python's or numpy's True or False; a word or a number would be taken for either."""
    kind = type(value)
    if kind is bool or (kind.__module__ == "numpy" and kind.__name__.startswith("bool")):
        return bool(value)
    raise SettingError(option, f"{_kind_of(value)} is neither True nor False")


def _check_name(option: str, value: object) -> None:
    """A name that results carry must be text, and such that it can be written."""
    if not isinstance(value, str):
        raise SettingError(option, f"{_kind_of(value)} is no name of a file")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SettingError(option, f"{value!r} is not UTF-8: results could not name it") from None


def _kind_of(value: object) -> str:
    """What came instead, for a message: its type, and a short value of a plain type."""
    if value is None or isinstance(value, bool | float):
        return str(value)
    if isinstance(value, str):
        return repr(value)
    return f"a value of type {type(value).__name__}"


def _check_range(option: str, value: int | None, most: int) -> None:
    if value is None or 1 <= value <= most:
        return
    shown = str(value) if abs(value) < 1 << 128 else f"a number of {value.bit_length():,} bits"
    raise SettingError(option, f"{shown} is not from 1 to {most:,}")
