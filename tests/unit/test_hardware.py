"""Hardware: every number has a source, no peak is a sparse one, files that lie are refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.core import InputError, SettingError
from hitpath.cost.device import DTYPES
from hitpath.cost.efficiency import load_efficiency
from hitpath.cost.hardware import hardware_names, hardware_table, load_hardware
from hitpath.cost.hardware_file import (
    AttentionRate,
    GemmRate,
    HardwareFile,
    Machine,
    MemoryRate,
    read_hardware_file,
    write_hardware_file,
)

TABLE = hardware_table()

# What the vendors print for bf16 with 2:4 sparsity, typed from their sheets, TFLOPS.
SPARSE_BF16 = {
    "a100-pcie-40gb": 624,
    "a100-pcie-80gb": 624,
    "a100-sxm-40gb": 624,
    "a100-sxm-80gb": 624,
    "b200": 4500,
    "gb200": 5000,
    "h100-pcie": 1513,
    "h100-sxm": 1979,
    "h200": 1979,
    "l4": 242,
    "l40s": 733,
    "mi300x": 2614.9,
    "rtx-4090": 330.3,
}


def figures():
    rates = ("memory_bytes_per_s", "memory_bytes", "link_bytes_per_s", "pcie_bytes_per_s")
    for name, entry in TABLE.hardware.items():
        for dtype, figure in entry.peak_flops_per_s.items():
            yield f"{name}.{dtype}", figure
        for rate in rates:
            if getattr(entry, rate) is not None:
                yield f"{name}.{rate}", getattr(entry, rate)


def test_every_number_has_a_source_and_every_source_a_number():
    used = {figure.source for _, figure in figures()}
    used |= {figure.sparse_source for _, figure in figures() if figure.sparse_source}
    assert used == set(TABLE.sources)
    assert all(source.address.startswith("https://") for source in TABLE.sources.values())


@pytest.mark.parametrize("name", hardware_names())
def test_what_is_null_is_said(name):
    entry = TABLE.hardware[name]
    missing = [dtype for dtype in ("bf16", "fp16") if dtype not in entry.peak_flops_per_s]
    missing += [r for r in ("link_bytes_per_s", "pcie_bytes_per_s") if getattr(entry, r) is None]
    assert bool(entry.notes) or not missing or entry.kind == "tpu"
    assert entry.memory_bytes_per_s is not None
    assert entry.memory_bytes is not None


@pytest.mark.parametrize("name", sorted(SPARSE_BF16))
def test_no_peak_is_the_sparse_figure_of_its_sheet(name):
    dense = load_hardware(name).peak("bf16")
    assert dense != SPARSE_BF16[name] * 1e12
    # the L40S sheet prints 362.05 | 733
    assert SPARSE_BF16[name] * 1e12 == pytest.approx(2 * dense, rel=0.013)


def test_sparse_figures_in_the_table_are_twice_the_dense_ones():
    told = [(where, f) for where, f in figures() if f.sheet_sparse is not None]
    assert len(told) > 40
    for where, figure in told:
        assert figure.sheet_sparse == pytest.approx(2 * figure.value, rel=0.013), where


@pytest.mark.parametrize("name", hardware_names())
def test_narrower_types_are_never_slower(name):
    peaks = load_hardware(name).peak_flops_per_s
    widths = [("fp32",), ("bf16", "fp16"), ("fp8", "int8"), ("fp4", "int4")]
    rates = [
        max(peaks[d] for d in group if d in peaks) for group in widths if set(group) & set(peaks)
    ]
    assert rates == sorted(rates)
    assert set(peaks) <= set(DTYPES)


# GB/s as the vendors print them, both directions together
@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("a100-sxm-80gb", 600),
        ("h100-sxm", 900),
        ("h100-nvl", 600),
        ("h200", 900),
        ("b200", 1800),
        ("gb200", 1800),
        ("mi300x", 896),
        ("tpu-v5e", 400),
        ("tpu-v6e", 800),
    ],
)
def test_links_are_one_direction(name, printed):
    assert load_hardware(name).link_bytes_per_s == printed * 1e9 / 2


@pytest.mark.parametrize(
    ("name", "dtype", "flop_per_byte"),
    [
        ("a100-sxm-80gb", "bf16", 312e12 / 2.039e12),  # 153
        ("h100-sxm", "bf16", 989e12 / 3.35e12),  # 295
        ("h100-sxm", "fp8", 1979e12 / 3.35e12),
        ("tpu-v5e", "bf16", 197e12 / 819e9),  # 240, the figure of the JAX scaling book
        ("l4", "bf16", 121e12 / 300e9),
    ],
)
def test_ridge_points(name, dtype, flop_per_byte):
    assert load_hardware(name).ridge_point(dtype) == pytest.approx(flop_per_byte, rel=1e-12)


@pytest.mark.parametrize("name", ["H100 SXM", "h100_sxm", " h100-sxm "])
def test_names_know_no_case(name):
    assert load_hardware(name).name == "h100-sxm"


def test_a_name_of_several_says_which():
    with pytest.raises(SettingError, match=r"one of h100-nvl, h100-pcie, h100-sxm$"):
        load_hardware("h100")


@pytest.mark.parametrize("name", ["", "h10", "no/such/file.json", "nul\0l", "x" * 5000])
def test_unknown_names(name):
    with pytest.raises(SettingError, match="neither a hardware file nor one of"):
        load_hardware(name)


def test_an_unknown_peak_is_refused():
    with pytest.raises(SettingError, match=r"bf16 peak is not known \(known: fp32\)"):
        load_hardware("m3-max").ridge_point("bf16")
    assert load_hardware("a10g").pcie_bytes_per_s is None


# --- efficiencies --------------------------------------------------------------------------------


def test_efficiencies_and_their_origin():
    h100 = load_hardware("h100-sxm")
    ideal = load_efficiency("ideal", h100, "bf16")
    assert (ideal.compute_frac, ideal.memory_frac, ideal.link_frac) == (1, 1, 1)
    reached = load_efficiency("achievable", h100, "bf16")
    assert reached.compute_frac == pytest.approx(0.803, abs=5e-4)  # the table prints 80.3 %
    assert load_efficiency("achievable", h100, "fp8").compute_frac == pytest.approx(0.709, abs=5e-4)
    assert (reached.memory_frac, reached.link_frac) == (0.8, 370 / 450)
    assert "aiconfigurator" in reached.origin
    given = load_efficiency("compute=0.5,overhead_s=0.002", h100, "bf16")
    assert (given.compute_frac, given.memory_frac, given.step_overhead_s) == (0.5, 1.0, 0.002)


@pytest.mark.parametrize(
    ("setting", "name", "cause"),
    [
        ("achievable", "l4", "no measurement of l4 in bf16"),
        ("achievable", "mi300x", "no measurement of mi300x"),
        ("typical", "l4", "neither ideal, achievable"),
        ("compute=0", "l4", "not from 1e-06 to 1"),
        ("compute=1e-300", "l4", "compute_frac is 1e-300, not from 1e-06 to 1"),
        ("compute=1.1", "l4", "not from 1e-06 to 1"),
        ("memory=nan", "l4", "not from 1e-06 to 1"),
        ("overhead_s=-1", "l4", "is no overhead"),
        ("compute=0.5,compute=0.6", "l4", "neither"),
        ("compute=half", "l4", "'half' is no number"),
        ("", "l4", "neither"),
    ],
)
def test_efficiencies_that_are_none(setting, name, cause):
    with pytest.raises(SettingError, match=cause):
        load_efficiency(setting, load_hardware(name), "bf16")


# --- files that calibrate writes -----------------------------------------------------------------


def measured(**changes):
    """A file written by hand in the documented schema."""
    fields = {
        "name": "laptop",
        "kind": "cpu",
        "measured_at": "2026-11-29T12:00:00Z",
        "machine": Machine(
            processor="x86, 8 cores", operating_system="Linux", num_threads=8, memory_bytes=2**34
        ),
        "versions": {"hitpath": "0.1.0", "numpy": "2.3.5"},
        "peak_flops_per_s": {"fp32": 2e11},
        "memory_bytes_per_s": 2e10,
        "gemm": [
            GemmRate(dtype="fp32", m=1000, n=1000, k=1000, seconds=0.01, flops_per_s=2e11),
            GemmRate(dtype="fp32", m=1, n=1000, k=1000, seconds=0.001, flops_per_s=2e9),
        ],
        "attention": [
            # 4 x 8 x 64 x (2 x 100 + 3) = 415,744 FLOP
            AttentionRate(
                dtype="fp32",
                num_heads=8,
                num_kv_heads=2,
                head_size=64,
                num_new_tokens=2,
                num_cached_tokens=100,
                seconds=1e-4,
                flops_per_s=4.15744e9,
            )
        ],
        "memory": [MemoryRate(what="read", bytes=10**9, seconds=0.05, bytes_per_s=2e10)],
    }
    return HardwareFile(**{**fields, **changes})


def test_a_measured_file_comes_back(tmp_path):
    path = tmp_path / "laptop.json"
    path.write_bytes(write_hardware_file(measured()))
    assert read_hardware_file(path) == measured()
    hardware = load_hardware(str(path))
    assert hardware.measured
    assert hardware.ridge_point("fp32") == 10
    assert (hardware.memory_bytes, hardware.pcie_bytes_per_s) == (None, None)
    assert "numpy 2.3.5" in hardware.sources["memory_bytes_per_s"]
    with pytest.raises(SettingError, match="use ideal"):
        load_efficiency("achievable", hardware, "fp32")


@pytest.mark.parametrize(
    ("path", "value", "field", "cause"),
    [
        (["schema"], "hitpath.hardware/2", "schema", "invalid enum value"),
        (["memory_bytes_per_s"], 0, "memory_bytes_per_s", "> 0"),
        (["memory_bytes_per_s"], None, "memory_bytes_per_s", "expected `float`"),
        (["memory_bytes_per_s"], 1e30, "memory_bytes_per_s", "<= 1e"),
        (["peak_flops_per_s", "fp31"], 1, "peak_flops_per_s", "invalid enum value"),
        (["peak_flops_per_s", "bf16"], 1e12, "peak_flops_per_s.bf16", "no gemm row of this type"),
        (["peak_flops_per_s", "fp32"], 4e11, "peak_flops_per_s.fp32", "does not agree"),
        (["gemm", 0, "flops_per_s"], 200, "gemm[0].flops_per_s", "does not agree"),
        (["gemm", 1, "m"], 0, "gemm[1].m", ">= 1"),
        (["attention", 0, "seconds"], 1, "attention[0].flops_per_s", "does not agree"),
        (["memory", 0, "bytes_per_s"], 20, "memory[0].bytes_per_s", "does not agree"),
        (["machine", "colour"], "grey", "machine", "unknown field"),
        (["gpus"], 1, "", "unknown field"),
    ],
)
def test_a_file_that_lies(tmp_path, path, value, field, cause):
    document = json.loads(write_hardware_file(measured()))
    part = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    file = tmp_path / "h.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match=cause) as caught:
        load_hardware(str(file))
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["name", "gemm", "machine", "versions", "memory_bytes_per_s"])
def test_a_file_that_lacks(tmp_path, name):
    document = json.loads(write_hardware_file(measured()))
    del document[name]
    file = tmp_path / "h.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match=f"{name}: missing"):
        load_hardware(str(file))


@given(st.binary(max_size=200))
def test_any_bytes_end_in_one_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("h") / "h.json"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load_hardware(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"[" * 100_000, b" " * (17 << 20), b"\xff\xfe", b"null", b""])
def test_files_that_are_none(tmp_path, data):
    path = tmp_path / "h.json"
    path.write_bytes(data)
    with pytest.raises(InputError):
        load_hardware(str(path))
    with pytest.raises(InputError, match="is a folder"):
        read_hardware_file(tmp_path)
