"""With a tokenizer, tokens lost and rung 7 are exact against a slow replay in tokens
(token_losses.py): request by request, over kinds, places and two templates made for these tests,
and mistral-common's own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from doctor.model_folders import SPECIALS, model_folder
from doctor.token_losses import Encode, Render, Trace, diverged, lost_to, planted_trace
from doctor_planted.loss_traces import CANONICAL, FORMS, ORDERS, VALUES
from hitpath.core import Setting
from hitpath.doctor.chats import messages_of, tools_of
from hitpath.doctor.defects import Costs, Defect, cost_of, gather
from hitpath.doctor.diagnose import Finding, diagnose
from hitpath.doctor.forms import Forms
from hitpath.doctor.placing import Placing
from hitpath.doctor.relatives import find_families
from hitpath.doctor.request_rows import request_of
from hitpath.doctor.resolve import resolve
from hitpath.doctor.token_forms import forms_of
from hitpath.report.doctor_run import Subject, examine, open_subject
from hitpath.sim.rungs import root_codes
from hitpath.spine import analyze
from hitpath.summary import Analysis
from hitpath.text.tokenizer import load_tokenizer

MISTRAL = "mistral:tekken_240911"
KINDS = tuple(kind for kind in (*VALUES, *FORMS, *ORDERS) if kind != "moved_block")
CASES = [(("clean_chatml", "qwen3_like")[n % 2], kind) for n, kind in enumerate(KINDS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokens")


def byte_of_letter() -> dict[str, int]:
    """How byte-level BPE writes bytes as letters (GPT-2's table)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): b for n, b in enumerate(others)}


def by_tokenizers(spec: str) -> Encode:
    tokenizers = pytest.importorskip("tokenizers")
    library = tokenizers.Tokenizer.from_file(f"{spec}/tokenizer.json")
    letters = byte_of_letter()

    def encode(text: str) -> tuple[list[int], list[int]]:
        ids = library.encode(text, add_special_tokens=False).ids
        names = [library.id_to_token(number) for number in ids]
        assert all(name in SPECIALS or set(name) <= letters.keys() for name in names)
        return ids, [len(name) for name in names]

    return encode


def by_mistral_common() -> Encode:
    """Control tokens are marked in the rendered text by U+FDD0 and their name; U+FDD0 U+FDD1 joins
    two pieces (text/mistral.py)."""
    mistral_common = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    loaded = load_tokenizer(MISTRAL)
    name = MISTRAL.partition(":")[2]
    data = Path(mistral_common.__file__).parents[2] / "data" / f"{name}.json"
    library = mistral_common.MistralTokenizer.from_file(str(data)).instruct_tokenizer.tokenizer
    joint = "\ufdd0\ufdd1".encode()

    def encode(text: str) -> tuple[list[int], list[int]]:
        ids = [int(number) for number in loaded.encode(text)]
        rest, lengths = text.encode(), []
        for number in ids:
            before = len(joint) if rest.startswith(joint) else 0
            size = len(library.id_to_byte_piece(number))
            if rest[before:].startswith("\ufdd0".encode()):
                size = len(f"\ufdd0{library.id_to_piece(number)}".encode())
            lengths.append(before + size)
            rest = rest[before + size :]
        return ids, lengths

    return encode


@cache
def spec_of(folder: Path, template: str) -> str:
    if template == "mistral":
        pytest.importorskip("mistral_common")
        return MISTRAL
    return model_folder(folder / template, template)


def render_by(spec: str) -> Render:
    tokenizer = load_tokenizer(spec)

    def render(body: dict[str, Any]) -> str:
        request = request_of("openai-requests", json.dumps(body).encode(), "0")
        assert request is not None
        text = tokenizer.render_chat(messages_of(request), tools_of(request))
        assert isinstance(text, str)
        return text

    return render


@cache
def asked(folder: Path, template: str, kind: str) -> tuple[Trace, Told, Analysis]:
    """A trace, what the doctor says of it, and the ladder with rung 7."""
    spec = spec_of(folder, template)
    encode = by_mistral_common() if template == "mistral" else by_tokenizers(spec)
    shape = "retrieval" if template == "mistral" else "service"
    trace = planted_trace(kind, 5, render_by(spec), encode, shape)
    path = folder / f"{template}-{kind}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in trace.rows), encoding="utf-8")
    setting = Setting(tokenizer=spec, block_size=1)
    subject = open_subject([str(path)], setting)
    assert subject.tokenizer is not None
    own = [subject.requests.symbols(row).tolist() for row in range(len(subject.trace))]
    assert own == [prompt.tokens for prompt in trace.prompts]
    found = analyze([str(path)], setting, canonical=True)
    assert isinstance(found, Analysis)
    return trace, told_of(subject), found


@dataclass(frozen=True)
class Told:
    """What the doctor says, without the proofs: those are replays of their own."""

    findings: list[Finding]
    costs: Costs
    defects: list[Defect]


def told_of(subject: Subject) -> Told:
    trace, tokenizer = subject.trace, subject.tokenizer
    assert tokenizer is not None
    place = Placing(tokenizer)
    families = find_families(trace)
    findings = resolve(diagnose(trace, subject.kept, families, None, tokenizer.decode, place))
    forms = forms_of(trace, subject.requests, tokenizer)
    assert isinstance(forms, Forms)
    match = forms.match(trace, root_codes(trace, False))
    costs = cost_of(findings, subject.since, forms, match)
    return Told(findings, costs, gather(findings, costs))


@pytest.mark.parametrize(
    ("template", "kind"), [*CASES, ("mistral", "clock"), ("mistral", "counter")]
)
def test_every_request_loses_the_tokens_that_the_replay_says(
    template: str, kind: str, folder: Path
) -> None:
    trace, told, _ = asked(folder, template, kind)
    total = 0
    for row, finding in enumerate(told.findings):
        earlier = trace.prompts[:row]
        want = set()
        if finding.relative >= 0:
            want = lost_to(trace.prompts[row], trace.prompts[finding.relative], earlier)
        if kind in CANONICAL:
            want |= diverged(trace.prompts[row], earlier)
        assert int(told.costs.lost[row]) == len(want), row
        total += len(want)
    assert total > 0
    of_defects = sum(defect.tokens_invalidated for defect in told.defects)
    assert of_defects + int(told.costs.unexplained.sum()) == total
    assert of_defects > 0.99 * total


@pytest.mark.parametrize(("template", "kind"), [c for c in CASES if c[1] in CANONICAL])
def test_rung_seven_in_tokens_is_that_of_the_replay(template: str, kind: str, folder: Path) -> None:
    trace, _, found = asked(folder, template, kind)
    rungs = found.ledger.rungs
    assert "diverged" not in rungs.unknown
    added = (rungs.model[7] - rungs.model[6]).tolist()
    want = [len(diverged(p, trace.prompts[:row])) for row, p in enumerate(trace.prompts)]
    assert added == want
    assert sum(want) > 0


def test_rung_seven_is_not_known_of_tokens_without_text(folder: Path) -> None:
    path = folder / "ids.jsonl"
    rows = [{"id": str(n), "arrival_s": n, "tokens": list(range(40 + n))} for n in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = analyze([str(path)], Setting(block_size=1), canonical=True)
    assert isinstance(found, Analysis)
    assert "diverged" in found.ledger.rungs.unknown


def test_a_letter_of_two_tokens_is_lost_whole(folder: Path) -> None:
    """The tokenizer of these tests writes `ë` as two tokens; both are of the name that changed."""
    trace, told, _ = asked(folder, "clean_chatml", "per_user_field")
    changes = [c for f in told.findings for c in f.comparison.changes]
    assert changes
    for finding in told.findings:
        for change in finding.comparison.changes:
            spans = trace.prompts[finding.row].spans()
            text = bytes(trace.prompts[finding.row].prompt.text)
            whole = text[spans[change.start][0] : spans[change.stop - 1][1]].decode()
            assert whole.strip() in {"Zoë", "Bruno", "Ikumi", "Tadhg", "Esther", "Marwan", "Luís",
                                     "Pia"}  # fmt: skip


def test_the_command_counts_the_same_losses(folder: Path) -> None:
    """`examine` with all that it does; no note that rung 7 is not known."""
    _, told, _ = asked(folder, *CASES[0])
    path = folder / f"{'-'.join(CASES[0])}.jsonl"
    setting = Setting(tokenizer=spec_of(folder, CASES[0][0]), block_size=1)
    found = examine(open_subject([str(path)], setting), what_ifs=False)
    assert found.costs.lost.tolist() == told.costs.lost.tolist()
    assert not any("rung 7" in note for note in found.notes)
