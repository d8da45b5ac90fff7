"""What the page shows, as one frozen record: every text is final, every place computed.

The template only puts these where they belong; it computes nothing.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hitpath.report.html.charts import Plot
from hitpath.report.html.sentences import Note
from hitpath.report.html.words import Unit

if TYPE_CHECKING:
    from hitpath.report.html.worth import WorthView


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what it is."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Table:
    """A plain table. Columns whose name ends in `<` hold text; the first heads its row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a whole: of a stacked bar, or a reason of a cause. Places in percent. note: what
    else to know of it."""

    css: str
    name: str
    tokens: str
    share: str
    left: float = 0.0
    width: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the waterfall. css: hit, lost, odd, floor or all; running: hit rate if this
    cause and all above it were gone (the ladder), a dash where no rung says so."""

    css: str
    name: str
    plain: str
    who: str
    left: float
    width: float
    tokens: str
    share: str
    running: str
    rung: str
    requests: str
    reasons: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Waterfall:
    """steps from hit to prompt; `none`: labels that got no token; `beside`: outside the sum."""

    note: Note
    steps: tuple[Step, ...]
    none: str
    beside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rate:
    """One of the named hit rates, over the whole trace and over its second half."""

    name: str
    meaning: str
    whole: str
    steady: str
    width: float
    main: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Plots that share one sentence, and their numbers as a table. foot: what else to know."""

    note: Note
    plots: tuple[Plot, ...]
    table: Table
    foot: str = ""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Reusable tokens still there, by how long a block is kept; `foot`: what else to know."""

    note: Note
    parts: tuple[Part, ...]
    foot: str


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One label's sums, as written without scripts. Widths in percent."""

    name: str
    cells: tuple[str, ...]
    hit_width: float
    possible_width: float


@dataclass(frozen=True, slots=True)
class GroupTable:
    """A table that sorts and filters. rows: the first ones, which stand there without scripts;
    data: all rows as JSON, from which the script draws those that are looked at; more: how many
    groups are left out of the page."""

    key: str
    title: str
    note: Note
    columns: tuple[str, ...]
    rows: tuple[GroupRow, ...]
    data: str
    more: int


@dataclass(frozen=True, slots=True)
class TreeView:
    """The icicle: `data` is JSON for the script, the tables say the same in words. text: whether
    the prompts' text is in it, and if not, why."""

    note: Note
    data: str
    foot: str
    text: str
    stretches: Table | None


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares with whom: hits by origin, and how much is held once."""

    note: Note | None
    parts: tuple[Part, ...]
    why_not: str
    factor: str
    pairs: Table | None
    pairs_note: Note | None


@dataclass(frozen=True, slots=True)
class Problems:
    """Rows that were left out; `more` of them are not listed."""

    title: str
    table: Table
    more: int


@dataclass(frozen=True, slots=True)
class Command:
    """How to repeat the analysis; files: the options that only say where results go, empty for
    none."""

    repeat: str
    files: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything between <html> and </html>. beside: rates that stand beside the first."""

    template: ClassVar[str] = "page.html.j2"
    title: str
    unit: Unit
    rate: str
    rate_text: str
    rate_name: str
    steady: str
    beside: tuple[str, ...]
    whole: tuple[Part, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]
    waterfall: Waterfall
    rates: tuple[Rate, ...]
    worth: "WorthView | None"
    capacity: Picture | None
    time: Picture | None
    gaps: Gaps | None
    lengths: Picture
    tree: TreeView
    sharing: Sharing
    groups: tuple[GroupTable, ...]
    unknown_text: str
    unknown: tuple[Fact, ...]
    problems: tuple[Problems, ...]
    settings: tuple[Fact, ...]
    command: Command
    version: str
    holds_text: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """Turns that lost the cache; table: the biggest, None where none did."""

    note: Note
    table: Table | None
    foot: str


@dataclass(frozen=True, slots=True)
class LengthsPage:
    """The page of a trace that does not say what its prompts are. steady: empty where nothing is
    reported; note: over the table `tokens`; shares: requests by their own share of hit."""

    template: ClassVar[str] = "lengths.html.j2"
    title: str
    unit: Unit
    rate: str
    rate_text: str
    rate_name: str
    steady: str
    whole: tuple[Part, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]
    note: Note
    tokens: Table
    rates: tuple[Rate, ...]
    worth: "WorthView | None"
    lost: Lost | None
    time: Picture | None
    lengths: Picture | None
    shares_note: Note | None
    shares: Table | None
    quantiles_note: Note | None
    quantiles: Table | None
    groups: tuple[GroupTable, ...]
    unknown_text: str
    unknown: tuple[Fact, ...]
    problems: tuple[Problems, ...]
    settings: tuple[Fact, ...]
    command: Command
    version: str
    holds_text: bool = False
    beside: tuple[str, ...] = ()
