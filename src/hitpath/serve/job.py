"""What `hitpath serve` is asked for, checked, with the names of its options in what is wrong.

Imports no web library and no torch: these may not be installed.
"""

from dataclasses import dataclass, field
from typing import Any

from hitpath.core import SettingError
from hitpath.engine.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class ServeJob:
    """What was asked for. `model` None with `tiny`; `name` None: the model's own."""

    model: str | None
    tiny: bool = False
    name: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    engine: EngineSettings = field(default_factory=EngineSettings)
    kv_events: str | None = None
    kv_events_replay: str | None = None
    kv_events_topic: str = ""
    drain_s: float = 30.0
    max_body_mib: int = 16


def engine_settings(**options: Any) -> EngineSettings:
    """The engine's switches; what is wrong is named as on the command line. Raises SettingError."""
    try:
        return EngineSettings(**options)
    except SettingError as error:
        raise as_typed(error) from error


def as_typed(error: SettingError) -> SettingError:
    """The engine's name of a switch as the option that sets it; other names stay."""
    name = error.option.split(" ", 1)[0]
    if name.rstrip(",") not in EngineSettings.__dataclass_fields__:
        return error
    option = "kv-gib" if name == "kv_cache_bytes" else error.option.replace("_", "-")
    return SettingError(f"--{option}", error.cause)


def gib_bytes(option: str, gib: float) -> int:
    """GiB as bytes. Raises SettingError for what is no amount of memory."""
    if not 0 < gib <= 1 << 20:
        raise SettingError(f"{option} {gib:g}", "is not above 0 and up to 1,048,576")
    return int(gib * 2**30)


def check_job(job: ServeJob) -> None:
    """Raises SettingError for what cannot be meant."""
    if (job.model is None) != job.tiny:
        cause = "give a model folder, or --tiny for a small random one"
        raise SettingError("hitpath serve", cause)
    if job.kv_events is None and (job.kv_events_replay or job.kv_events_topic):
        raise SettingError("--kv-events-replay, --kv-events-topic", "need --kv-events")
    if not 0 <= job.drain_s <= 86_400:
        raise SettingError("--drain-s", "must be from 0 to 86,400")
    if not 1 <= job.max_body_mib <= 1024:
        raise SettingError("--max-body-mib", "must be from 1 to 1,024")
