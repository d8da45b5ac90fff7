"""Engines by name with their settings: what is typed, what the model is, what it changes."""

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hitpath.cli import app
from hitpath.core import Setting, SettingError
from hitpath.sim.models.contract import Request
from hitpath.sim.models.llamacpp import LlamaModel
from hitpath.sim.models.named import OPTIONS, make_model, read_engine
from hitpath.sim.models.replay import Arrival, replay
from hitpath.sim.models.sglang import SglangModel
from hitpath.sim.models.vllm import VllmModel
from hitpath.sim.models.vllm_rules import DENSE, LayerGroup, VllmSettings
from hitpath.sim.models.vllm_steps import StepSettings, VllmScheduler
from hitpath.spine import analyze_trace
from models.test_from_trace import asked
from support import token_trace, write_jsonl


def made(typed, capacity_tokens=4096, block_size=None):
    return make_model(typed, capacity_tokens, block_size)()


def test_every_setting_is_documented_with_its_default():
    page = (Path(__file__).resolve().parents[2] / "docs" / "exactness.md").read_text()
    for engine, options in OPTIONS.items():
        for option in options:
            plain = option.words[int(option.default)] if option.words else f"{option.default:g}"
            row = next(
                line
                for line in page.splitlines()
                if line.startswith(f"| `{engine}` | `{option.name}` |")
            )
            assert f" | `{plain}` | {option.meaning} |" in row
            assert all(f"`{word}`" in row for word in option.words)


def test_what_is_typed_is_what_the_model_has():
    model = made(
        "vllm@0.30:window=64,windows=2,states=1,drop_last=yes,lookahead=3,watermark=0.05", 1600
    )
    assert isinstance(model, VllmModel)
    window = LayerGroup("window", 16, 64)
    groups = (LayerGroup("full", 16), window, window, LayerGroup("state", 16))
    assert model.settings == VllmSettings(
        100 * 4 + 1, groups, "0.30", True, 3, watermark_frac=0.05
    )  # fmt: skip
    assert made("vllm:blocks=77,reserve=no,retention=-1").settings == VllmSettings(
        77, (LayerGroup("full", 16),), reserves_whole_prompt=False, retention_interval=DENSE
    )
    assert made("vllm:full=no,window=9").settings.groups == (LayerGroup("window", 16, 9),)
    sglang = made("sglang:policy=slru,host=900,write=write_through_selective,load_back=4")
    assert isinstance(sglang, SglangModel)
    told = sglang.settings
    assert (told.policy, told.host_tokens, told.load_back_tokens) == ("slru", 900, 4)
    assert told.write_through_hits == 2
    llama = made("llamacpp:slots=3,unified=no,host=-1,similarity=0.5,clears_idle=no")
    assert isinstance(llama, LlamaModel)
    assert (llama.settings.num_slots, llama.settings.host_tokens) == (3, None)
    assert not llama.settings.unified
    assert made("trtllm:partial=no").settings.partial_reuse is False
    assert made("hitpath:eviction=priority").settings.eviction == "priority"


@pytest.mark.parametrize("engine", OPTIONS)
def test_told_settings_can_be_typed(engine):
    plain = read_engine(engine)
    assert read_engine(plain.told()).values == plain.values
    assert read_engine(plain.told()).version == plain.version
    for option in OPTIONS[engine]:
        value = option.words[-1] if option.words else f"{option.low:g}"
        typed = read_engine(f"{engine}:{option.name}={value}")
        assert read_engine(typed.told()).values == typed.values
        assert f"{option.name}={value}" in typed.told() or value == "-2"


@pytest.mark.parametrize(
    ("typed", "cause"),
    [
        ("vllm:colour=red", "no option 'colour'; there are: window, windows, full"),
        ("vllm:window", "window has no value"),
        ("vllm:window=1,window=2", "given twice"),
        ("vllm:window=1.5", "no whole number"),
        ("vllm:window=nan", "is not from 0"),
        ("vllm:drop_last=maybe", "not one of no, yes"),
        ("vllm:full=no", "needs window or states"),
        ("vllm@0.26:states=1", "steps of state layers are not modelled for vLLM 0.26"),
        ("vllm@0.20:window=9", "sliding windows are not modelled"),
        ("vllm@0.22:watermark=0.1", "has none"),
        ("vllm@", "no version behind @"),
        ("trtllm@1", "has no versions"),
        ("sglang@0.5.18:host=9", "from SGLang 0.5.20 on"),
        ("llamacpp:slots=0", "not from 1"),
        ("llamacpp:slots=99,unified=no", "no token for each slot"),
        ("hitpath:eviction=slru", "not one of lru, lfu, priority"),
        ("lru:a=1", "not one of"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(typed, cause, tmp_path):
    with pytest.raises(SettingError, match=cause):
        make_model(typed, 90)
    arguments = [
        "analyze",
        str(tmp_path / "none.jsonl"),
        "--engine",
        typed,
        "--capacity-tokens",
        "90",
    ]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code != 0


GROUPS = (
    "states=1",
    "states=2",
    "full=no,states=1",
    "window=6,states=1",
    "window=6,full=no,states=1",
)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("version", ["0.28", "0.30", "0.32"])
@pytest.mark.parametrize("drops", ["no", "yes"])
def test_prompts_of_state_layers_are_cut_as_the_scheduler_cuts_them(groups, version, drops):
    """One request after the other, each served to its first token."""
    rng = random.Random(f"{groups}{version}{drops}")
    stems = [[rng.randrange(9) for _ in range(rng.randint(8, 60))] for _ in range(4)]
    prompts = []
    for _ in range(60):
        stem = rng.choice(stems)
        prompts.append(
            stem[: rng.randint(1, len(stem))] + [rng.randrange(9) for _ in range(rng.randint(1, 9))]
        )
        if rng.random() < 0.3:
            stems.append(prompts[-1])
    make = make_model(f"vllm@{version}:{groups},drop_last={drops}", 96, 4)
    arrivals = [Arrival(Request(i, tokens), 0, float(i)) for i, tokens in enumerate(prompts)]
    out = replay(arrivals, make, 1)
    scheduler = VllmScheduler(make().settings, StepSettings(max_tokens=1 << 20, max_running=8))
    hits = []
    for i, tokens in enumerate(prompts):
        scheduler.submit(Request(i, tokens), 1)
        while scheduler.running or scheduler.num_waiting:
            step = scheduler.schedule()
            hits += [hit.tokens for hit in step.admitted.values()]
            scheduler.update(step, {number: [0] for number in scheduler.due(step)})
    assert out.hit.tolist() == hits
    assert sum(hits) > 0


def test_settings_move_the_hits():
    trace = token_trace(asked(3, 200))
    rates = {}
    for typed in ("sglang", "sglang:policy=lfu", "sglang:host=4000", "vllm", "vllm:drop_last=yes",
                  "llamacpp", "llamacpp:slots=1", "llamacpp:slots=2,host=400"):  # fmt: skip
        size = 4 if typed.startswith("vllm") else None
        setting = Setting(engine=typed, capacity_tokens=120, block_size=size)
        ledger = analyze_trace(trace, setting).ledger
        ledger.check()
        rates[typed] = ledger.total(ledger.hit)
    assert rates["sglang:host=4000"] > rates["sglang"] != rates["sglang:policy=lfu"]
    assert rates["vllm:drop_last=yes"] < rates["vllm"]
    assert rates["llamacpp:slots=1"] < rates["llamacpp"]
    assert rates["llamacpp:slots=1"] < rates["llamacpp:slots=2,host=400"]


def test_pages_and_documents_tell_the_settings_and_the_hosts_hits(tmp_path):
    rows = [
        {"id": str(i), "arrival_s": i, "tokens": list(range(100 * (i % 3), 100 * (i % 3) + 60))}
        for i in range(9)
    ]
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    out = tmp_path / "o.json"
    arguments = ["analyze", str(path), "--engine", "sglang:host=1000", "--capacity-tokens", "64"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert (
        "settings of the engine: sglang@0.5.23:policy=lru, host=1000, write=write_through" in told
    )
    assert "blocks of 1 token ·" in told
    assert CliRunner().invoke(app, [*arguments, "--json", str(out)]).exit_code == 0
    document = json.loads(out.read_text())
    assert document["setting"]["engine"] == "sglang:host=1000"
    assert document["setting"]["engine_settings"].startswith("sglang@0.5.23:policy=lru, host=1000")
    tiers = document["tokens"]["hit_by_tier"]
    assert tiers["host"] > 0
    assert sum(tiers.values()) == document["tokens"]["hit"]
    plain = analyze_trace(token_trace(asked(1)), Setting())
    assert plain.fleet.host is None


@pytest.mark.parametrize("typed", ["vllm", "vllm:watermark=0.5", "vllm:window=8", "vllm:states=1"])
def test_room_that_is_never_used_takes_none_and_changes_nothing(typed):
    trace = token_trace(asked(4, 120))
    hits = []
    for capacity in (100_000, 1 << 40):
        setting = Setting(engine=typed, capacity_tokens=capacity, block_size=4)
        hits.append(analyze_trace(trace, setting).ledger.hit.tolist())
    assert hits[0] == hits[1]


@pytest.mark.parametrize(
    "typed", ["vllm:window=\u0663", "vllm:window=1_0", "vllm@ 0.32", "vllm@0.32\n:window=3"]
)
def test_numbers_are_plain(typed):
    with pytest.raises(SettingError):
        make_model(typed, 4096)
