"""Pages for tests: the demo, and a trace whose every name is hostile."""

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import hitpath.spine as spine
from hitpath.core import Setting
from hitpath.cost.models import load_model
from hitpath.report.html import render_page
from hitpath.report.html.build import page_view
from hitpath.report.html.excerpts import excerpts_of
from hitpath.report.html.tree import PrefixTree, prefix_tree
from hitpath.summary import Analysis, Stages
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows

COMMAND = "hitpath analyze demo.jsonl --engine lru --capacity-tokens 120000 --html demo.html"
HOSTILE = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror=window.pwned=1>',
    "'; alert(1); //\n\r\u2028</script><!--",
    "{{ 7 * 7 }} {% raw %} &amp; \u202e\x00\x1b[31m",
)


class Tags(HTMLParser):
    """What the markup consists of: tags, attribute names, and unclosed elements."""

    VOID = frozenset({"meta", "path", "rect", "input", "br", "img", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.programs = 0
        self.handlers: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.programs += tag == "script" and ("type", "application/json") not in attrs
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.loads += [v or "" for n, v in attrs if n in ("src", "srcset", "href", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@dataclass(frozen=True, slots=True)
class Made:
    """An analysis, its tree and its page."""

    analysis: Analysis
    stages: Stages
    tree: PrefixTree
    html: bytes


def make(
    folder: Path,
    rows: list[dict],
    setting: Setting,
    model: str | None = None,
    show_text: bool = False,
) -> Made:
    kept: list[Stages] = []
    whole = spine.sum_up

    def keep(stages: Stages) -> Analysis:
        kept.append(stages)
        return whole(stages)

    with mock.patch.object(spine, "sum_up", keep):
        analysis = spine.analyze_trace(trace_of_rows(folder, rows), setting)
    stages = kept[0]
    tree = prefix_tree(stages.trace, stages.ledger, stages.events, stages.blocks)
    kv = None if model is None else load_model(model, "bf16")
    excerpts = excerpts_of(analysis.trace, setting, allowed=show_text)
    page = page_view(analysis, kv, COMMAND, tree, excerpts)
    return Made(analysis, stages, tree, render_page(page))


def demo(folder: Path) -> Made:
    setting = Setting(
        engine="lru",
        capacity_tokens=120_000,
        outputs="insert",
        workers=2,
        router="round-robin",
    )
    return make(folder, demo_rows(0), setting, "llama-3.1-8b")


def texts(folder: Path, reported: bool = False) -> Made:
    """Prompts of text without a tokenizer, which are counted in bytes, with a model named."""
    rows = []
    for i in range(60):
        row = {
            "id": f"r{i}",
            "arrival_s": float(7 * i),
            "session": f"agent-{i % 3}",
            "prompt": "You are a helpful assistant. " * 6 + f"word {i} " * (i % 9 + 1),
        }
        if i % 20 == 19:
            row["prompt"] = "Whole blocks, and so the last byte is computed again".ljust(64, ".")
        if reported:
            counts = {"cached_tokens": 20 * (i % 3), "prompt_tokens": 70}
            row["reported"] = {**counts, "counting": "inclusive"}
        rows.append(row)
    setting = Setting(engine="lru", capacity_tokens=400, last_token=True)
    return make(folder, rows, setting, "llama-3.1-8b")


def small(folder: Path) -> Made:
    """Few requests, short prompts, several sizes of cache within a decade."""
    rows = [
        {
            "id": f"r{i}",
            "arrival_s": float(7 * i),
            "session": f"agent-{i % 3}",
            "tokens": list(range(40 + 12 * i)),
        }
        for i in range(8)
    ]
    return make(folder, rows, Setting(), "llama-3.1-8b")


def hostile(folder: Path) -> Made:
    """Every label and id of a small trace is one of HOSTILE; so is the command."""
    rows = []
    for i in range(80):
        name = HOSTILE[i % 4]
        head = list(range(40 + 8 * (i % 4)))
        rows.append(
            {
                "id": f"{name} {i}",
                "arrival_s": float(i),
                "tokens": head + [1000 + i] * 40,
                "tenant": name,
                "session": f"{name} {i // 8}",
                "model": name,
                "worker": name,
                "context": {"salt": name if i > 60 else "x"},
            }
        )
    return make(folder, rows, Setting())
