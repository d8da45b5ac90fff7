"""`hitpath price` as a user meets it: page, JSON, picture, curve, one line of error."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import call, is_one_line, process
from hitpath.cost.formats import Formats
from hitpath.cost.hardware import load_hardware
from hitpath.cost.hardware_file import (
    GemmRate,
    HardwareFile,
    Machine,
    MemoryRate,
    write_hardware_file,
)
from hitpath.cost.model_table import load_shape
from hitpath.cost.money import tier_break_even_hit_rate
from hitpath.cost.paths import PARTS, decode_step, hit_path, miss_path, replica_of

PAGE = (Path(__file__).parents[2] / "docs" / "hit-and-miss-path.md").read_text()
LLAMA = ("price", "--model", "llama-2-70b", "--hardware", "h100-sxm", "--tp", "2")


def document(*options: object) -> dict[str, Any]:
    ended = call(*LLAMA, *options, "--json", "-")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in keys_of(inner)}
    return (
        {key for inner in value[:1] for key in keys_of(inner)} if isinstance(value, list) else set()
    )


# JSON


def test_pinned_keys():
    found = document("--prompt", 4096, "--cached", 4032)
    assert {"model", "hardware", "miss", "hit", "speedup", "tpot_s", "break_even"} <= set(found)
    assert {"name", "params", "weight_bytes", "kv_bytes_per_token"} <= set(found["model"])
    for path in (found["miss"], found["hit"]):
        assert {"tokens_computed", "tokens_cached", "parts", "ttft_s"} <= set(path)
        assert tuple(path["parts"]) == PARTS
        for part in path["parts"].values():
            pinned = {"flops", "weight_bytes", "kv_bytes", "intensity", "bound", "time_s"}
            assert pinned <= set(part)
        assert "flops_per_layer" in path["parts"]["attention"]


def test_the_document_tells_what_the_paths_are():
    found = document("--prompt", 4096, "--cached", 4032, "--output", 100, "--chunk", 1000)
    replica = replica_of(load_shape("llama-2-70b"), load_hardware("h100-sxm"), 2)
    miss = miss_path(replica, 4096, chunk_tokens=1000)
    hit = hit_path(replica, 4096, 4032, chunk_tokens=1000)
    for told, path in ((found["miss"], miss), (found["hit"], hit)):
        assert told["ttft_s"] == pytest.approx(path.ttft_s, rel=1e-12)
        assert told["flops"] == path.flops
        for name in PARTS:
            part = path.parts[name]
            for key in ("flops", "weight_bytes", "kv_bytes", "bound", "time_s", "intensity"):
                assert told["parts"][name][key] == getattr(part, key)
        total = sum(part["time_s"] for part in told["parts"].values())
        assert told["ttft_s"] == pytest.approx(total)
        for part in told["parts"].values():  # intensity is per byte of weights and KV
            moved = part["weight_bytes"] + part["kv_bytes"]
            assert part["intensity"] == (part["flops"] / moved if moved else None)
    assert found["speedup"] == found["miss"]["ttft_s"] / found["hit"]["ttft_s"]
    assert found["tpot_s"] == decode_step(replica, 4146).ttft_s
    assert found["model"]["params"] == 68_976_648_192
    assert found["model"]["weight_bytes"] == 137_953_296_384
    assert found["model"]["kv_bytes_per_token"] == 327_680
    assert found["model"]["prefix_kv_bytes"] == 4032 * 327_680


def test_every_key_is_documented():
    options = ("--lookup-s", 0.001, "--sweep", "cached", "--gpu-hour", 2)
    keys = keys_of(document(*options)) - {"host memory", "disk", "network"}
    section = PAGE.split("## JSON")[1]
    assert sorted(key for key in keys if f"`{key}`" not in section) == []


def test_the_same_command_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        ended = call(
            *LLAMA,
            "--sweep",
            "prompt",
            "--json",
            tmp_path / f"{name}.json",
            "--plot",
            tmp_path / "roofline.html",
        )
        assert ended.code == 0, ended.err
        (tmp_path / "roofline.html").rename(tmp_path / f"{name}.html")
    for kind in ("json", "html"):
        first, again = ((tmp_path / f"{n}.{kind}").read_text() for n in ("a", "b"))
        assert first.replace("a.json", "b.json") == again


def test_formats_batch_and_a_config_file(tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
        "vocab_size": 100,
        "tie_word_embeddings": False,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    ended = call(
        *("price", "--model", path, "--hardware", "l4", "--weights", "int4", "--kv", "fp8"),
        *("--prompt", 50, "--cached", 40, "--batch", 3, "--json", "-"),
    )
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    replica = replica_of(
        load_shape(str(path)), load_hardware("l4"), 1, Formats(weights="int4", kv="fp8")
    )
    assert found["hit"]["ttft_s"] == pytest.approx(hit_path(replica, 50, 40, batch=3).ttft_s)
    assert found["model"]["kv_bytes_per_token"] == 2 * 2 * 2 * 16


def test_the_last_token_is_never_cached():
    found = document("--prompt", 100, "--cached", 100)
    assert found["hit"]["tokens_cached"] == 99
    assert any("last token" in note for note in found["notes"])
    assert document("--prompt", 10)["hit"]["tokens_cached"] == 0  # all but 64 of 10


def test_notes_tell_what_was_assumed():
    ended = call("price", "--model", "llama-3-8b", "--hardware", "a10g", "--weights", "fp8")
    assert "a10g has no known fp8 rate: products run in bf16" in ended.text
    assert "does not fit" in call("price", "--model", "llama-2-70b", "--hardware", "l4").text
    assert "does not fit" not in call(*LLAMA, "--weights", "fp8").text
    assert (
        "windows and states" in call("price", "--model", "gemma-3-27b", "--hardware", "h200").text
    )
    achievable = call(*LLAMA, "--efficiency", "achievable").text
    assert "no overhead a step" in achievable
    assert "794.5 TFLOP" in achievable


def test_a_measured_machine(tmp_path):
    """A processor that was measured in fp32 only multiplies bf16 weights in fp32."""
    gemm = GemmRate(dtype="fp32", m=64, n=64, k=64, seconds=1e-5, flops_per_s=2 * 64**3 / 1e-5)
    rate = MemoryRate(what="read", bytes=10**9, seconds=0.1, bytes_per_s=1e10)
    file = HardwareFile(
        name="laptop",
        kind="cpu",
        measured_at="2026-11-29",
        machine=Machine(processor="some processor", operating_system="some", num_threads=4),
        versions={},
        peak_flops_per_s={"fp32": gemm.flops_per_s},
        memory_bytes_per_s=1e10,
        gemm=[gemm],
        memory=[rate],
    )
    path = tmp_path / "laptop.json"
    path.write_bytes(write_hardware_file(file))
    ended = call("price", "--model", "smollm2-135m", "--hardware", path, "--json", "-")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["hardware"]["matrix_type"] == "fp32"
    assert found["hardware"]["matrix_flops_per_s"] == pytest.approx(gemm.flops_per_s)
    assert "laptop has no known bf16 rate: products run in fp32" in found["notes"]
    head = found["hit"]["parts"]["lm_head"]
    assert head["time_s"] == pytest.approx((head["weight_bytes"] + head["other_bytes"]) / 1e10)


# Break-evens and money


def test_break_evens():
    priced = document("--lookup-s", 0.001)
    found = priced["break_even"]
    without_lookup_s = priced["hit"]["ttft_s"] - 0.001
    assert found["saved_s"] == pytest.approx(priced["miss"]["ttft_s"] - without_lookup_s)
    assert found["lookup"]["from_tokens"] == found["lookup"]["always_from_tokens"] == 98
    assert found["lookup"]["hit_share_needed"] == pytest.approx(0.001 / found["saved_s"])
    assert found["compute_bound_new_tokens"] == 314
    assert list(found["tiers"]) == ["host memory", "disk", "network"]
    host, disk = found["tiers"]["host memory"], found["tiers"]["disk"]
    assert (host["bytes_per_s"], host["per_gpu"], disk["per_gpu"]) == (64e9, True, False)
    assert host["from_tokens"] < disk["from_tokens"]
    assert disk["load_s"] == pytest.approx(4032 * 327_680 / 7e9)
    faster = document("--disk-gb-s", 70)["break_even"]["tiers"]["disk"]
    assert faster["load_s"] == pytest.approx(disk["load_s"] / 10)


def test_hardware_without_a_host_link_has_no_host_tier():
    ended = call("price", "--model", "llama-3-8b", "--hardware", "a10g", "--json", "-")
    assert list(json.loads(ended.out)["break_even"]["tiers"]) == ["disk", "network"]
    ended = call(
        *("price", "--model", "llama-3-8b", "--hardware", "a10g", "--json", "-"),
        *("--host-gb-s", 20),
    )
    assert json.loads(ended.out)["break_even"]["tiers"]["host memory"]["bytes_per_s"] == 20e9


def test_the_hit_rate_that_a_tier_must_add():
    money = ("--gpu-hour", 2.5, "--tier-usd-hour", 1.0, "--prompt-tokens-per-s", 5000)
    found = document(*money)["break_even"]
    host = found["tiers"]["host memory"]
    expected = tier_break_even_hit_rate(
        1.0, 5000, found["saved_s"] / 4032, host["load_s"] / 4032, 2.5, 2
    )
    assert host["hit_rate_needed"] == pytest.approx(expected)
    # by hand: the hit tokens of an hour, times what each saves, are worth 1 USD
    saved_a_token_s = (found["saved_s"] - host["load_s"]) / 4032
    gained = host["hit_rate_needed"] * 5000 * 3600 * saved_a_token_s * 2 * 2.5 / 3600
    assert gained == pytest.approx(1.0)
    assert document()["break_even"]["tiers"]["host memory"]["hit_rate_needed"] is None
    assert "hit rate that host memory must add" in call(*LLAMA, *money).text


# The terminal page


def test_the_page_has_both_paths_and_what_follows():
    text = call(*LLAMA, "--lookup-s", 0.001, "--queue-s", 0.002).text
    for fragment in (
        "560.8 TFLOP",
        "8.762 TFLOP",
        "136.9 GB",
        "274.9 GFLOP",
        "8.524 GFLOP",
        "compute",
        "memory",
        "all-reduce",
        "64.00x",
        "time per output token",
        "unchanged",
        "314 new tokens",
        "from 98 tokens",
        "loading from disk pays",
        "Before you quote a number",
        "queue",
    ):
        assert fragment in text, fragment
    assert not re.search(r"\x1b", text)  # a pipe gets no colours


def test_no_speedup_without_its_hit_rate_workload_and_miss_cost():
    text = call(*LLAMA).text
    head = next(line for line in text.splitlines() if "to the first token instead of" in line)
    assert "14.82x" in head
    assert "hit rate 98.44 %: 4,032 of 4,096 prompt tokens" in head
    assert "318.6 ms" in head
    assert "batch 1 · 256 output tokens" in text


@pytest.mark.parametrize("axis", ["cached", "prompt", "batch", "hit-rate"])
def test_curves(axis):
    found = document("--sweep", axis)["sweep"]
    assert found["by"] == axis
    points = found["points"]
    replica = replica_of(load_shape("llama-2-70b"), load_hardware("h100-sxm"), 2)
    for point in points:
        prompt, cached = point["prompt_tokens"], point["cached_tokens"]
        hit = hit_path(replica, prompt, cached, batch=point["batch"])
        assert point["hit_ttft_s"] == pytest.approx(hit.ttft_s)
        assert point["speedup"] == point["miss_ttft_s"] / point["hit_ttft_s"]
        tokens = prompt * point["batch"]
        assert point["gpu_s_per_mtok"] == pytest.approx(1e6 * 2 * hit.ttft_s / tokens)
    key = {"cached": "cached_tokens", "prompt": "prompt_tokens", "batch": "batch"}
    along = [point[key.get(axis, "hit_rate")] for point in points]
    assert along == sorted(set(along))
    if axis in ("cached", "hit-rate"):
        hits = [point["hit_ttft_s"] for point in points]
        assert hits == sorted(hits, reverse=True)
        assert points[0]["speedup"] == 1
        assert points[-1]["cached_tokens"] == 4095
    assert axis.replace("-", " ") in call(*LLAMA, "--sweep", axis, "--gpu-hour", 2).text


def test_a_higher_hit_rate_never_costs_more():
    points = document("--sweep", "hit-rate", "--gpu-hour", 2.5)["sweep"]["points"]
    usd = [point["usd_per_mtok"] for point in points]
    assert usd == sorted(usd, reverse=True)
    assert usd[0] == pytest.approx(points[0]["gpu_s_per_mtok"] / 3600 * 2.5)


# The picture


def test_the_roofline_is_self_contained(tmp_path):
    path = tmp_path / "roofline.html"
    ended = call(*LLAMA, "--sweep", "hit-rate", "--plot", path)
    assert ended.code == 0, ended.err
    page = path.read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<link|src=|url\(|@import", page)
    assert re.findall(r"https?://[^\"' <]+", page) == []
    for part in ("linear", "attention", "lm_head"):
        for name in ("miss", "hit"):
            assert f"{part} of the {name} path:" in page
    assert "linear of the miss path: 2,258 FLOP/byte, 989.0 TFLOP/s a GPU" in page  # on the roof
    assert "lm_head of the hit path: 1.000 FLOP/byte, 3.349 TFLOP/s a GPU" in page  # on the slope
    assert "all-reduce of the" not in page  # no FLOPs, no place on a roofline
    assert "560.8 TFLOP" in page
    assert "hit rate 98.44 %" in page
    places = [float(x) for x in re.findall(r'class="dot [^"]*" style="left:([\d.]+)%', page)]
    assert len(places) == 6 + 21
    assert all(0 <= place <= 100 for place in places)


def test_places_on_the_roofline():
    """Memory-bound parts lie on the slope, compute-bound ones on the roof."""
    found = document()
    rate, peak = found["hardware"]["memory_bytes_per_s"], found["hardware"]["matrix_flops_per_s"]
    for path in (found["miss"], found["hit"]):
        for name in ("linear", "attention", "lm_head"):
            part = path["parts"][name]
            reached = part["flops"] / part["time_s"] / 2
            roof = min(peak, part["intensity_all_bytes"] * rate)
            assert reached == pytest.approx(roof)
            ridge = found["hardware"]["ridge"]
            assert (part["bound"] == "compute") == (part["intensity_all_bytes"] >= ridge)


# Errors


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        (("--model", "llama-9"), ["--model llama-9"]),
        (("--hardware", "h900"), ["--hardware h900"]),
        (("--tp", 3), ["--tp 3", "64 attention heads"]),
        (("--tp", 0), ["--tp 0"]),
        (("--prompt", 0), ["--prompt 0"]),
        (("--prompt", 10**30), ["--prompt"]),
        (("--cached", 5000), ["--cached", "5,000 of 4,096"]),
        (("--cached", -1), ["--cached"]),
        (("--batch", 0), ["--batch 0"]),
        (("--batch", 10**12), ["--batch"]),
        (("--chunk", 0), ["--chunk 0"]),
        (("--output", -1), ["--output -1"]),
        (("--output", 10**15), ["--output"]),
        (("--weights", "fp7"), ["--weights fp7", "bf16"]),
        (("--kv", "x\ny"), ["--kv x\\ny"]),
        (("--mla", "both"), ["--mla both", "absorbed"]),
        (("--sweep", "tp"), ["--sweep tp", "hit-rate"]),
        (("--lookup-s", "nan"), ["--lookup-s nan"]),
        (("--lookup-s", -1), ["--lookup-s -1"]),
        (("--queue-s", "inf"), ["--queue-s inf"]),
        (("--load-latency-s", "nan"), ["--load-latency-s nan"]),
        (("--host-gb-s", 0), ["--host-gb-s 0"]),
        (("--disk-gb-s", "nan"), ["--disk-gb-s nan"]),
        (("--network-gb-s", -5), ["--network-gb-s -5"]),
        (("--gpu-hour", "nan"), ["--gpu-hour nan"]),
        (("--tier-usd-hour", 1), ["--gpu-hour", "together"]),
        (
            ("--gpu-hour", 1, "--tier-usd-hour", "nan", "--prompt-tokens-per-s", 1),
            ["--tier-usd-hour nan"],
        ),
        (("--efficiency", "good"), ["--efficiency good"]),
        (("--efficiency", "compute=2"), ["--efficiency compute=2"]),
        (("--json", "/no/such/folder/x.json"), ["/no/such/folder"]),
        (("--plot", "/no/such/folder/x.html"), ["/no/such/folder"]),
        (("--json", "x\0y"), ["x\\x00y"]),
    ],
)
def test_what_cannot_be_is_one_line(options, fragments):
    ended = call(*LLAMA, *options)
    assert (ended.code, ended.out) == (2, b"")
    assert is_one_line(ended.err), ended.err
    for fragment in fragments:
        assert fragment in ended.err


def test_model_and_hardware_are_needed():
    assert "--hardware" in call("price", "--model", "llama-3-8b").err
    assert call("price", "--hardware", "l4").code == 2


def test_two_outputs_in_one_file_are_refused(tmp_path):
    ended = call(*LLAMA, "--json", tmp_path / "x", "--plot", tmp_path / "x")
    assert ended.code == 2
    assert "two outputs" in ended.err
    assert not (tmp_path / "x").exists()


def test_long_prompts_in_many_chunks_are_no_loop():
    found = document("--prompt", 2**24, "--cached", 0, "--chunk", 1, "--sweep", "cached")
    assert found["miss"]["num_steps"] == 2**24


# Fast


def test_a_cold_process_loads_no_numpy_numba_or_arrow(tmp_path):
    script = (
        f"{shlex.quote(sys.executable)} - <<'E'\n"
        "import sys\n"
        "sys.argv = ['hitpath', 'price', '--model', 'qwen3-32b', '--hardware', 'h200']\n"
        "from hitpath.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'jinja2', 'duckdb'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "E"
    )
    ended = process(script, tmp_path)
    assert ended.returncode == 0, ended.stderr
