"""Quantities of the cost model as text: FLOPs, bytes, rates, short times."""

_BIG = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def si(value: float, unit: str = "") -> str:
    """Four digits and a decimal prefix: 560.8 TFLOP. Bytes are decimal too (1 GB = 1e9)."""
    for size, prefix in _BIG:
        if abs(value) >= size * 0.99995:
            return f"{_digits(value / size)} {prefix}{unit}"
    return f"{_digits(value)} {unit}".rstrip()


def tick(value: float) -> str:
    """A round number on an axis: 500, 10 T."""
    for size, prefix in _BIG:
        if value >= size * 0.99995:
            return f"{value / size:g} {prefix}"
    return f"{value:g}"


def ratio_text(value: float | None) -> str:
    """31.75x; a dash where there is none."""
    return "–" if value is None else f"{_digits(value)}x"


def number(value: float | None) -> str:
    """Four digits, thousands separated; a dash for none."""
    return "–" if value is None else _digits(value)


def short_time(value: float) -> str:
    """Seconds in the unit that suits them: 21.5 ms."""
    if not value:
        return "0 s"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if value >= size * 0.99995:
            return f"{_digits(value / size)} {unit}"
    return f"{value:.2g} s"


def _digits(value: float) -> str:
    """Four digits, none behind the point that would say nothing."""
    if abs(value) >= 999.95:
        return f"{value:,.0f}"
    if abs(value) >= 99.995:
        return f"{value:.1f}"
    if abs(value) >= 9.9995 or value == 0:
        return f"{value:.2f}" if value else "0"
    return f"{value:.3f}"
