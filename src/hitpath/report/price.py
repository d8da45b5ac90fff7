"""`hitpath price`: what a hit is worth on given hardware, without a trace."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hitpath.core import SettingError, one_line
from hitpath.cost.attention import LatentForm
from hitpath.cost.break_even import Tier
from hitpath.cost.efficiency import given_parts
from hitpath.cost.formats import Formats
from hitpath.cost.hardware import Hardware, load_hardware
from hitpath.cost.model_table import load_shape
from hitpath.cost.paths import replica_of
from hitpath.cost.quote import Question, Quote, TierMoney, quote
from hitpath.cost.sweep import AXES, SweepPoint, sweep
from hitpath.report.output import check_places, is_stdout, write_whole
from hitpath.report.pages import print_page, titled, write_json, write_line
from hitpath.report.price_document import price_document
from hitpath.report.terminal_price import price_sections, print_sections
from hitpath.report.terminal_sweep import TITLES, sweep_table

if TYPE_CHECKING:
    from hitpath.report.fitted import Fitted

NEW_TOKENS = 64
"""Of a prompt's tokens so many are new, where it is not said how many are cached."""

_FORMS: dict[str, LatentForm | None] = {
    "faster": None,
    "absorbed": "absorbed",
    "unabsorbed": "unabsorbed",
}


def _form(mla: str) -> LatentForm | None:
    if mla not in _FORMS:
        raise SettingError(f"--mla {mla}", f"not one of {', '.join(_FORMS)}")
    return _FORMS[mla]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceJob:
    """One command, as typed; rates in GB/s (1e9 bytes a second)."""

    model: str
    hardware: str
    tp: int
    prompt: int
    cached: int | None
    batch: int
    chunk: int | None
    weights: str
    kv: str
    output: int
    efficiency: str
    fit: str | None
    mla: str
    lookup_s: float
    queue_s: float
    host_gb_s: float | None
    disk_gb_s: float
    network_gb_s: float
    load_latency_s: float
    gpu_hour_usd: float | None
    tier_usd_per_hour: float | None
    prompt_tokens_per_s: float | None
    sweep: str | None
    json: str | None
    plot: str | None
    command: str


def run_price(job: PriceJob) -> None:
    """Price, write every file, then print the page unless standard output is taken. Raises
    HitpathError."""
    files = [path for path in (job.json, job.plot) if path is not None]
    read = [Path(path) for path in (job.model, job.hardware, job.fit) if path is not None]
    check_places(files, [*read, *(path / "config.json" for path in read)])
    fit = None if job.fit is None else fit_of(job)
    if fit is not None:
        job = replace(job, efficiency=fit.setting)
    found, points = price(job)
    if job.json is not None:
        told = price_document(found, job.sweep, points, job.gpu_hour_usd)
        write_json(job.json, {**told, "fit": None if fit is None else fit.document})
    if job.plot is not None:
        _write_plot(job, found, points)
    if not any(map(is_stdout, files)):
        sections: list[Any] = list(price_sections(found))
        if job.sweep is not None:
            curve = sweep_table(job.sweep, points, job.gpu_hour_usd)
            sections.insert(1, titled(TITLES[job.sweep], curve))
        if fit is not None:
            sections.insert(1, titled(f"Fitted to {one_line(fit.file)}", fit.section()))
        print_page(lambda page: print_sections(sections, page))


def price(job: PriceJob) -> tuple[Quote, list[SweepPoint]]:
    """The quote, and the curve where one was asked for."""
    if job.sweep is not None and job.sweep not in AXES:
        raise SettingError(f"--sweep {job.sweep}", f"not one of {', '.join(AXES)}")
    hardware = load_hardware(job.hardware)
    replica = replica_of(
        load_shape(job.model),
        hardware,
        job.tp,
        Formats(weights=job.weights, kv=job.kv),
        job.efficiency,
        _form(job.mla),
    )
    question = Question(
        prompt_tokens=job.prompt,
        cached_tokens=max(job.prompt - NEW_TOKENS, 0) if job.cached is None else job.cached,
        output_tokens=job.output,
        batch=job.batch,
        chunk_tokens=job.chunk,
        lookup_s=job.lookup_s,
        queue_s=job.queue_s,
        tiers=_tiers(job, hardware),
        money=_money(job),
    )
    found = quote(replica, question)
    points = [] if job.sweep is None else sweep(replica, question, job.sweep)  # type: ignore[arg-type]
    return found, points


def fit_of(job: PriceJob) -> "Fitted":
    """The efficiencies that measured rows tell; given parts of --efficiency are held."""
    assert job.fit is not None
    if job.efficiency == "achievable":
        raise SettingError("--fit", "and --efficiency achievable are two efficiencies; give one")
    known = {} if job.efficiency == "ideal" else given_parts(job.efficiency)
    from hitpath.report.fitted import fitted  # loads numpy

    return fitted(
        job.fit,
        load_shape(job.model),
        load_hardware(job.hardware),
        num_gpus=job.tp,
        formats=Formats(weights=job.weights, kv=job.kv),
        latent_form=_form(job.mla),
        chunk_tokens=job.chunk,
        known=known,
    )


def _tiers(job: PriceJob, hardware: Hardware) -> tuple[Tier, ...]:
    """Host memory over each GPU's own link, where its rate is known; disk and network over one."""
    if not 0 <= job.load_latency_s < 1e6:
        raise SettingError(f"--load-latency-s {job.load_latency_s:g}", "is no number of seconds")
    host = hardware.pcie_bytes_per_s
    if job.host_gb_s is not None:
        host = _rate("--host-gb-s", job.host_gb_s)
    tiers = [] if host is None else [Tier("host memory", host, True, job.load_latency_s)]
    for name, option, rate in (
        ("disk", "--disk-gb-s", job.disk_gb_s),
        ("network", "--network-gb-s", job.network_gb_s),
    ):
        tiers.append(Tier(name, _rate(option, rate), False, job.load_latency_s))
    return tuple(tiers)


def _rate(option: str, gb_per_s: float) -> float:
    if not 1e-6 <= gb_per_s <= 1e9:
        raise SettingError(f"{option} {gb_per_s:g}", "is no rate in GB/s")
    return gb_per_s * 1e9


def _money(job: PriceJob) -> TierMoney | None:
    """What a tier costs, where all of it is told; a part of it is of no use."""
    if job.gpu_hour_usd is not None and not 0 < job.gpu_hour_usd < 1e6:
        raise SettingError(f"--gpu-hour {job.gpu_hour_usd:g}", "is no price of a GPU-hour")
    if job.tier_usd_per_hour is None and job.prompt_tokens_per_s is None:
        return None
    given = (job.gpu_hour_usd, job.tier_usd_per_hour, job.prompt_tokens_per_s)
    if any(value is None for value in given):
        cause = "needs --gpu-hour, --tier-usd-hour and --prompt-tokens-per-s together"
        raise SettingError("the price of a tier", cause)
    for option, value in zip(("--tier-usd-hour", "--prompt-tokens-per-s"), given[1:], strict=True):
        if not 0 < (value or 0) < 1e12:
            raise SettingError(f"{option} {value:g}", "is not above 0")
    return TierMoney(
        gpu_hour_usd=given[0] or 0.0,
        tier_usd_per_hour=given[1] or 0.0,
        prompt_tokens_per_s=given[2] or 0.0,
    )


def _write_plot(job: PriceJob, found: Quote, points: list[SweepPoint]) -> None:
    from hitpath.report.html.roofline import render_roofline  # loads what pages need

    assert job.plot is not None
    page = render_roofline(found, job.sweep, points, job.command)
    write_whole(job.plot, lambda file: write_line(file, page))
