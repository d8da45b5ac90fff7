"""The examples of docs/canonical.md run, and its tables name what there is."""

import doctest
from dataclasses import fields
from pathlib import Path

from hitpath import canonical
from hitpath.doctor.lint_record import RULES
from hitpath.doctor.template_breaks import KINDS, SENTENCES
from hitpath.doctor.template_dialogues import dialogues

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_examples_run() -> None:
    failed, tried = doctest.testfile(str(DOCS / "canonical.md"), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_every_option_and_function_is_named() -> None:
    page = (DOCS / "canonical.md").read_text()
    for field in fields(canonical.Options):
        assert f"`{field.name}`" in page
    for name in canonical.__all__:
        if name[0].islower() and name not in ("compose",):
            assert name in page, name


def test_every_rule_is_named_with_its_kind() -> None:
    page = (DOCS / "lint.md").read_text()
    for rule in RULES.values():
        assert f"| {rule.id} | `{rule.kind}` |" in page


def test_every_shape_is_named_with_its_kind() -> None:
    page = (DOCS / "chat-templates.md").read_text()
    for shape in SENTENCES:
        assert f"| `{shape}` | `{KINDS.get(shape, 'template_flip')}` |" in page
    for dialogue in dialogues():
        assert dialogue.mode.split(",")[0] in page
