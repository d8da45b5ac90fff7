"""The file of a fleet (TOML): workers, router, load; and what the command line puts over it.

Every field may be left out but where a group of workers cannot be told without it. A field that is
not known here, of another type or out of its range is an InputError that names the file, the field
and the cause; nothing is ignored. docs/simulate.md describes each.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from hitpath.core import InputError, why_no_file

MAX_FILE_BYTES = 1 << 20
"""A description of a fleet is a page, not a trace."""

Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]
Workers = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e18)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]

Role = Literal["both", "prefill", "decode"]
Visible = Literal["schedule", "processed", "prompt"]
Replies = Literal["growing", "ended"]
ArrivalsRule = Literal["trace", "poisson", "constant", "closed"]
Change = Literal["fail", "join", "restart"]


class Worker(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A worker of a group, or in `[worker]` what all groups begin with. None: not said. step_s and
    token_s: a step takes so long and each new token so much more, instead of a model's times."""

    count: Workers | None = None
    role: Role | None = None
    engine: str | None = None
    model: str | None = None
    hardware: str | None = None
    tp: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    weights: str | None = None
    kv_dtype: str | None = None
    efficiency: str | None = None
    fit: str | None = None
    mla: str | None = None
    capacity_tokens: Count | None = None
    unlimited: bool | None = None
    memory_frac: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    block_size: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] | None = None
    max_batch_tokens: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] | None = None
    max_running: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] | None = None
    chunked_prefill: bool | None = None
    watermark_frac: Annotated[float, msgspec.Meta(ge=0, lt=1)] | None = None
    reserve_full_prompt: bool | None = None
    last_token: bool | None = None
    visible: Visible | None = None
    replies: Replies | None = None
    mixed: bool | None = None
    free_copies: bool | None = None
    late_results: bool | None = None
    wait_for_twins: bool | None = None
    lookup_s_per_block: Seconds | None = None
    step_s: Seconds | None = None
    token_s: Seconds | None = None
    kv_bytes_per_token: Positive | None = None


class RouterPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[router]`: its name with options, and how old and how true what it sees is."""

    name: str = "round-robin"
    scrape_interval_s: Seconds | None = None
    scrape_age_s: Seconds | None = None
    index_lag_s: Seconds | None = None
    index_loss_frac: Share | None = None
    max_in_flight: Count | None = None


class Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One step of a load: so many requests, or as many as come in so long."""

    rate_per_s: Positive
    requests: Count | None = None
    duration_s: Positive | None = None


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[load]`: when requests arrive, and how long their answers are where no trace says so."""

    arrivals: ArrivalsRule = "trace"
    scale: Positive | None = None
    rate_per_s: Positive | None = None
    think_s: Seconds | None = None
    output_tokens: Count | None = None
    drain: bool = True
    stages: tuple[Stage, ...] = ()


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[transfer]`: KV from prefill to decode workers."""

    bytes_per_s: Positive
    latency_s: Seconds = 0.0


class Tier(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[host]`, `[remote]`: a slower cache behind each worker, or behind all. tokens None:
    unlimited; bytes_per_s None: the hardware's own link to its host."""

    tokens: Count | None = None
    bytes_per_s: Positive | None = None
    latency_s: Seconds = 0.0


class ChangePart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of `[[changes]]`: a worker (its number, from 0) fails, joins or restarts cold."""

    time_s: Seconds
    worker: Annotated[int, msgspec.Meta(ge=0, le=100_000)]
    change: Change


class FleetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole file. Groups without `[[workers]]`: one, as `[worker]` says."""

    worker: Worker = Worker()
    workers: tuple[Worker, ...] = ()
    router: RouterPart = RouterPart()
    load: Load = Load()
    transfer: Link | None = None
    host: Tier | None = None
    remote: Tier | None = None
    load_overlaps: bool = False
    changes: tuple[ChangePart, ...] = ()
    outputs: Literal["insert", "ignore"] = "ignore"
    slo: str | None = None
    seed: Seed = 0
    ttft_constant_s: Seconds = 0.0
    gpu_hour_usd: Annotated[float, msgspec.Meta(gt=0, lt=1e6)] | None = None
    sample_s: Positive | None = None


def read_fleet(path: str) -> FleetFile:
    """The file as it stands. Raises InputError (place = the path) whatever its bytes are."""
    return fleet_of(_toml(path), path)


def fleet_of(content: Mapping[str, Any], place: str) -> FleetFile:
    """The same from what a TOML file holds. Raises InputError."""
    try:
        return msgspec.convert(content, FleetFile)
    except msgspec.ValidationError as error:
        raise _as_input_error(str(error), place) from error
    except (OverflowError, RecursionError) as error:
        raise InputError(place, "", f"cannot be read: {error}") from error


def _toml(path: str) -> dict[str, Any]:
    try:
        found = Path(path)
        if not found.is_file():
            raise InputError(path or '""', "", why_no_file(found) if path else "no such file")
        if found.stat().st_size > MAX_FILE_BYTES:
            raise InputError(path, "", f"larger than {MAX_FILE_BYTES >> 20} MiB: no fleet")
        return tomllib.loads(found.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(path, "", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(path, "", "not valid UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, "", f"no TOML: {error}") from error
    except RecursionError as error:
        raise InputError(path, "", "TOML is nested too deeply") from error
    except ValueError as error:
        raise InputError(path, "", f"no path: {error}") from error


_AT = re.compile(r"^(?P<cause>.*?)(?: - at (?:`key` in )?`(?P<path>[^`]*)`)?$", re.DOTALL)
_WORDS: Mapping[str, tuple[str, ...]] = {
    "role": get_args(Role),
    "visible": get_args(Visible),
    "replies": get_args(Replies),
    "arrivals": get_args(ArrivalsRule),
    "change": get_args(Change),
    "outputs": ("insert", "ignore"),
}
_NAMED = re.compile(r"^Object (?P<what>missing required|contains unknown) field `(?P<name>.*)`$")


def _as_input_error(text: str, place: str) -> InputError:
    """msgspec's words as place, field, cause."""
    match = _AT.match(text)
    cause = match["cause"] if match else text
    path = (match["path"] or "" if match else "").removeprefix("$").removeprefix(".")
    named = _NAMED.match(cause)
    if named is not None:
        field = f"{path}.{named['name']}" if path else named["name"]
        missing = named["what"].startswith("missing")
        return InputError(place, field, "missing" if missing else "no field of a fleet")
    if cause.startswith("Invalid enum value"):
        allowed = ", ".join(_WORDS[path.rpartition(".")[2]])
        return InputError(place, path, f"{cause.partition('value ')[2]} is not one of {allowed}")
    return InputError(place, path, cause[:1].lower() + cause[1:])
