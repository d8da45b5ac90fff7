"""Thoughts in every template's own marks: the empty block of "thinking off", and lost reasons."""

import pytest

from hitpath.doctor.template_breaks import TemplateBreak
from hitpath.doctor.templates import check_template

MARKS = [
    ("<think>\n", "\n</think>\n\n"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|think|>", "<|/think|>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("[THINK]", "[/THINK]"),
    ("[BEGIN_THOUGHT]", "[END_THOUGHT]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought\n", "<channel|>"),
]


def template(begin: str, end: str) -> str:
    """Written by hand: reasoning is kept in the last message only; thinking off puts an empty block
    into the head of the reply."""
    return (
        "{% for m in messages %}<{{ m.role }}>"
        "{% if m.reasoning_content is defined and loop.last %}"
        f"{begin}{{{{ m.reasoning_content }}}}{end}{{% endif %}}"
        "{{ m.content }}</{{ m.role }}>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>"
        "{% if enable_thinking is defined and not enable_thinking %}"
        f"{begin}{end}{{% endif %}}{{% endif %}}"
    )


@pytest.fixture(scope="module", params=MARKS, ids=[begin.strip() for begin, _ in MARKS])
def found(request: pytest.FixtureRequest) -> dict[str, set[tuple[str, str]]]:
    """(part, shape) by mode."""
    report = check_template(template(*request.param))

    def told(breaks: tuple[TemplateBreak, ...]) -> set[tuple[str, str]]:
        return {(one.part, one.shape) for one in breaks}

    return {mode.mode: told(mode.breaks) for mode in report.modes}


def test_an_empty_block_for_one_turn(found: dict[str, set[tuple[str, str]]]) -> None:
    assert found["thinking off"] == {("prompt", "empty_think_block")}


def test_reasoning_that_is_not_in_the_history(found: dict[str, set[tuple[str, str]]]) -> None:
    assert found["thinking"] == {("reply", "reasoning_stripped")}


@pytest.mark.parametrize("head", ["[NOTE]", "<tools></tools>", "<|ready|>"])
def test_another_head_is_no_thought(head: str) -> None:
    report = check_template(template(head, "") + "{# think #}")
    (mode,) = [one for one in report.modes if one.mode == "thinking off"]
    assert {one.shape for one in mode.breaks} == {"generation_prompt"}
