"""What a router's file declares beside its kernel: name, options with their defaults, source."""

from dataclasses import dataclass, field

from hitpath.routing.view import IndexSettings

FROM_TERMS = float("nan")
"""Default of an option that the engine's step times give (`Option.term`)."""


@dataclass(frozen=True, slots=True)
class Option:
    """One number of a rule. low and high are inclusive; `words` names the values 0, 1, ... where
    a word is typed; `whole` allows no fraction; `term` is the field of StepTerms that gives the
    value where nothing is typed."""

    name: str
    default: float
    meaning: str
    low: float = 0.0
    high: float = 1e12
    words: tuple[str, ...] = ()
    whole: bool = False
    term: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A router before its options are typed. `line`: the formula in one line. `source`: project,
    file and version that the formula and the defaults were read from. `needs`: figures of View
    that the engines must tell (a name stands for itself; "x if y" needs x where option y is not
    0). ring_points: points a worker on the hash ring, 0 for none. prefix_tokens: leading tokens
    that `Ask.prefix_hash` is over, 0 where it is not read. counts_blocks: reads View.active_unique
    or active_shared."""

    name: str
    kind: int
    line: str
    source: str
    options: tuple[Option, ...] = ()
    index: IndexSettings = field(default_factory=IndexSettings)
    needs: tuple[str, ...] = ()
    ring_points: int = 0
    prefix_tokens: int = 0
    counts_blocks: bool = False
