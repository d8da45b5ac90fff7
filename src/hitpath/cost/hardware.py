"""What a GPU (or chip) can do at most: dense peaks by type, memory and link rates, with sources.

The table is `data/hardware.json`: every number has the source that it was read from beside it,
and what was not seen in a source is null, never filled in from memory. Two traps it avoids:

- Vendors of Ampere and later print tensor rates with 2:4 sparsity, twice what a dense matrix
  gets. A peak here is the dense one; the sheet's sparse figure stands beside it as `sheet_sparse`.
- NVLink, Infinity Fabric and PCIe are printed for both directions together. Rates here are bytes
  a second in one direction (see `Hardware`).
"""

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from hitpath.core import SettingError
from hitpath.cost.device import Dtype, Hardware, Kind, Positive
from hitpath.cost.hardware_file import hardware_of_file, read_hardware_file
from hitpath.cost.struct_file import read_struct

__all__ = ["Hardware", "hardware_names", "hardware_table", "load_hardware"]


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`kind` says whose words they are: the vendor's own, quoted from the vendor, or neither."""

    title: str
    address: str
    kind: Literal["vendor", "quotes the vendor", "third party"]


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number of the table; `source` and `sparse_source` are keys of its sources."""

    value: Positive
    source: str
    sheet_sparse: Positive | None = None
    sparse_source: str | None = None
    note: str | None = None


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One hardware of the table, as the file has it."""

    title: str
    vendor: str
    kind: Kind
    peak_flops_per_s: dict[Dtype, Figure]
    memory_bytes_per_s: Figure | None
    memory_bytes: Figure | None
    link_bytes_per_s: Figure | None
    pcie_bytes_per_s: Figure | None
    notes: list[str]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    schema: Literal["hitpath.hardware-table/1"]
    sources: dict[str, Source]
    hardware: dict[str, Entry]


@cache
def hardware_table() -> Table:
    """The built-in table, decoded once."""
    return read_struct(Path(__file__).with_name("data") / "hardware.json", Table)


def hardware_names() -> list[str]:
    """The names of the built-in table."""
    return sorted(hardware_table().hardware)


def load_hardware(name_or_file: str) -> Hardware:
    """A built-in device by name, or the file that `hitpath calibrate` wrote.

    Names know no case, and blanks and underscores are hyphens. Raises SettingError for a name
    that is neither, InputError for a file that is no hardware file.
    """
    name = "-".join(name_or_file.lower().replace("_", " ").split())
    entry = hardware_table().hardware.get(name)
    if entry is not None:
        return _built_in(name, entry)
    path = Path(name_or_file)
    try:
        found = path.is_file()
    except (OSError, ValueError):
        found = False
    if found:
        return hardware_of_file(read_hardware_file(path))
    near = [known for known in hardware_names() if name and known.startswith(f"{name}-")]
    cause = f"neither a hardware file nor one of {', '.join(near or hardware_names())}"
    raise SettingError(f"--hardware {name_or_file}", cause)


def _built_in(name: str, entry: Entry) -> Hardware:
    titles = {key: source.title for key, source in hardware_table().sources.items()}
    rates = ("memory_bytes_per_s", "memory_bytes", "link_bytes_per_s", "pcie_bytes_per_s")
    figures: dict[str, Figure | None] = {rate: getattr(entry, rate) for rate in rates}
    peaks = {f"peak_flops_per_s.{dtype}": f for dtype, f in entry.peak_flops_per_s.items()}
    known = {key: figure for key, figure in (peaks | figures).items() if figure is not None}
    return Hardware(
        name=name,
        title=entry.title,
        kind=entry.kind,
        source="hitpath's table of data sheets, the source of each number beside it",
        peak_flops_per_s={dtype: f.value for dtype, f in entry.peak_flops_per_s.items()},
        memory_bytes_per_s=_value(entry.memory_bytes_per_s),
        memory_bytes=_value(entry.memory_bytes),
        link_bytes_per_s=_value(entry.link_bytes_per_s),
        pcie_bytes_per_s=_value(entry.pcie_bytes_per_s),
        sources={key: titles[f.source] for key, f in known.items()},
        notes=(*entry.notes, *(f"{key}: {f.note}" for key, f in known.items() if f.note)),
    )


def _value(figure: Figure | None) -> float | None:
    return None if figure is None else figure.value
