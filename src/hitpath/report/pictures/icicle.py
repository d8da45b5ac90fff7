"""The prefix tree on a sheet: as the page shows it before anybody zooms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hitpath.report.html.tree import PrefixTree, TreeNode
from hitpath.report.html.words import Unit, pct
from hitpath.report.pictures.sheet import COLOURS, MARGIN, WIDTH, Sheet, shortened

_LEVELS = 10
_ROW = 31
_NARROWEST = 3.0
_DEEP_FRAC = 0.62
_TEXT_SIZE = 12
_SPAN = float(WIDTH - 2 * MARGIN)


@dataclass(frozen=True, slots=True)
class Box:
    """A stretch, or several too narrow to be seen. Pixels; tokens: its length, 0 for several;
    hit: share of its own tokens that hit, None for the whole and for contexts."""

    left: float
    width: float
    level: int
    name: str
    tokens: int
    hit: float | None

    @property
    def label(self) -> str:
        """What fits into it: name and length, or as much of the name as there is room for."""
        room = self.width - 12
        whole = f"{self.name} · {self.tokens:,}" if self.tokens else self.name
        return (
            whole
            if shortened(whole, _TEXT_SIZE, room) == whole
            else shortened(self.name, _TEXT_SIZE, room)
        )


def boxes(tree: PrefixTree) -> Iterator[Box]:
    """Top down, at most _LEVELS of them, none narrower than _NARROWEST pixels."""
    children: dict[int, list[int]] = {}
    for i, node in enumerate(tree.nodes):
        children.setdefault(node.parent, []).append(i)
    hits = [node.own_hit for node in tree.nodes]
    for i in range(len(tree.nodes) - 1, 0, -1):
        hits[tree.nodes[i].parent] += hits[i]

    def rank(child: int) -> tuple[bool, int]:
        return tree.nodes[child].num_merged > 0, -tree.nodes[child].area

    def below(i: int, left: float, width: float, level: int) -> Iterator[Box]:
        node = tree.nodes[i]
        yield Box(left, width, level, node.name, node.tokens, _hit(node))
        if level + 1 == _LEVELS or not node.area:
            return
        narrow: list[int] = []
        for child in sorted(children.get(i, ()), key=rank):
            wide = width * tree.nodes[child].area / node.area
            if wide < _NARROWEST or (tree.nodes[child].num_merged and narrow):
                narrow.append(child)
                continue
            yield from below(child, left, wide, level + 1)
            left += wide
        if len(narrow) == 1:
            yield from below(
                narrow[0], left, width * tree.nodes[narrow[0]].area / node.area, level + 1
            )
        elif narrow:
            area = sum(tree.nodes[c].area for c in narrow)
            num = sum(tree.nodes[c].num_merged or 1 for c in narrow)
            hit = sum(hits[c] for c in narrow) / area if area else 0.0
            wide = width * area / node.area
            yield Box(left, wide, level + 1, f"{num:,} others", 0, hit)

    return below(0, 0.0, _SPAN, 0)


def _hit(node: TreeNode) -> float | None:
    own = node.area if node.num_merged else node.own_area
    return node.own_hit / own if own else None


def draw_icicle(sheet: Sheet, tree: PrefixTree, unit: Unit) -> None:
    """Boxes below boxes, and what their width and colour say."""
    _draw_ramp(sheet)
    top, deepest = sheet.y, 0
    for box in boxes(tree):
        deepest = max(deepest, box.level)
        gap = 1.5 if box.width > 6 else 0.4
        fill = COLOURS["faint"] if box.hit is None else _mixed(box.hit)
        sheet.rect(MARGIN + box.left, top + box.level * _ROW, box.width - gap, _ROW - 2, fill)
        colour = "bg" if box.hit is not None and box.hit > _DEEP_FRAC else "ink"
        y = top + box.level * _ROW + 19
        sheet.text(MARGIN + box.left + 6, y, box.label, _TEXT_SIZE, colour)
    sheet.y = top + (deepest + 1) * _ROW + 12
    whole = tree.nodes[0]
    sheet.paragraph(
        f"Each box is a run of {unit.many} that the same requests share, with its length; what "
        f"they go on with hangs below it. Width: {unit.many} × requests, with all that follows. "
        f"Colour: share of the box's own {unit.many} that hit; of all {whole.area:,} drawn, "
        f"{pct(sum(n.own_hit for n in tree.nodes) / whole.area if whole.area else None)}.",
        12,
        "dim",
    )


def _draw_ramp(sheet: Sheet) -> None:
    steps, right = 18, WIDTH - MARGIN - 24
    sheet.text(right + 6, sheet.y + 9, "hit")
    for i in range(steps):
        sheet.rect(right - 5 * (steps - i), sheet.y, 5, 10, _mixed((i + 0.5) / steps), 0)
    sheet.text(right - 5 * steps - 6, sheet.y + 9, "missed", anchor="end")
    sheet.y += 20


def _mixed(share: float) -> str:
    """Between the colours of miss and hit."""
    low, high = (_channels(COLOURS[name]) for name in ("miss", "hit"))
    share = min(1.0, max(0.0, share))
    mixed = (round(a + (b - a) * share) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _channels(colour: str) -> Sequence[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
