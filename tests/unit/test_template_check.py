"""Templates of our own that copy known failure shapes, and clean ones.

The lines that are expected are found in the template's source by what they write.
"""

import json
import os
import re
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hitpath.cli import app
from hitpath.core import InputError, SettingError
from hitpath.doctor.template_breaks import TemplateBreak
from hitpath.doctor.template_dialogues import dialogues
from hitpath.doctor.template_lines import LinedTemplate
from hitpath.doctor.templates import TemplateReport, check_template, template_report
from hitpath.report.doctor_template import run_template, template_document

TEMPLATES = Path(__file__).parents[1] / "templates"


def report_of(name: str) -> TemplateReport:
    (report,) = template_report(str(TEMPLATES / f"{name}.jinja"))
    return report


def line_with(name: str, words: str) -> int:
    """The only line of a template that has these words."""
    lines = (TEMPLATES / f"{name}.jinja").read_text().split("\n")
    (number,) = [at for at, line in enumerate(lines, 1) if words in line]
    return number


def mode_of(report: TemplateReport, mode: str) -> list[TemplateBreak]:
    (found,) = [one for one in report.modes if one.mode == mode]
    assert found.refused is None
    return list(found.breaks)


def broken_modes(report: TemplateReport, part: str = "prompt") -> set[str]:
    return {one.mode for one in report.breaks if one.part == part}


def test_a_clean_template_has_no_break_in_any_mode() -> None:
    report = report_of("clean_chatml")
    assert report.is_append_only
    assert report.breaks == ()
    assert [mode.refused for mode in report.modes] == [None] * 15
    assert not report.has_two_bos


def test_reasoning_behind_the_last_question_only() -> None:
    report = report_of("qwen3_like")
    assert broken_modes(report) == {
        "thinking off", "thinking off, sent back empty", "tools, thinking", "tools, thinking off",
    }  # fmt: skip
    off = mode_of(report, "thinking off")
    assert [one.turn for one in off] == [1, 2]
    assert {one.shape for one in off} == {"empty_think_block"}
    assert off[0].line == line_with("qwen3_like", "'<think>\\n\\n</think>")
    assert off[0].next_line == line_with("qwen3_like", "{{- content }}")
    assert off[0].here == "<think>\n\n</think>\n\n"
    assert off[0].before.endswith("assistant\n")
    thinking = mode_of(report, "thinking")
    assert {(one.part, one.shape) for one in thinking} == {("reply", "reasoning_stripped")}
    # In a loop of tools the reasoning stays until the next question: then the prompt breaks.
    loop = mode_of(report, "tools, thinking")
    assert [(one.turn, one.part) for one in loop] == [(2, "prompt"), (4, "prompt")]
    assert loop[0].line == line_with("qwen3_like", "'<think>\\n' + reasoning")


def test_reasoning_cut_out_of_the_history() -> None:
    report = report_of("deepseek_r1_like")
    for mode in report.modes:
        shapes = {one.shape for one in mode.breaks}
        if mode.mode in ("thinking", "thinking, in the reply's text"):
            assert shapes == {"reasoning_stripped"}
        elif mode.mode == "chat":  # no reply ever reasoned: it is the head that is another one
            assert shapes == {"generation_prompt"}
    first = mode_of(report, "thinking")[0]
    assert first.line == line_with("deepseek_r1_like", "<|Assistant|><think>")
    assert first.next_line == line_with("deepseek_r1_like", "+ content + eos_token")
    assert first.here == "<think>\n"
    assert first.chars_lost == len("<think>\n")


def test_a_date_breaks_only_on_another_day() -> None:
    report = report_of("dated_system")
    assert broken_modes(report) == {"another day each turn"}
    first = report.breaks[0]
    assert (first.shape, first.kind) == ("date", "clock")
    assert first.line == line_with("dated_system", "Today Date: {{ today }}")
    assert (first.here[:6], first.next_here[:6]) == ("3 Mar ", "4 Mar ")


def test_tools_and_system_before_the_last_question_only() -> None:
    report = report_of("mistral_like")
    moved = [one for one in mode_of(report, "tools") if one.shape == "tools_moved"]
    assert {one.kind for one in moved} == {"moved_block"}
    assert {one.line for one in moved} == {line_with("mistral_like", "[AVAILABLE_TOOLS]")}
    chat = mode_of(report, "chat")
    assert {one.shape for one in chat} == {"last_message"}
    assert chat[0].line == line_with("mistral_like", "+ system_message +")
    (late,) = [mode for mode in report.modes if mode.mode == "system message late"]
    assert late.refused is not None
    assert f"line {line_with('mistral_like', 'raise_exception')}" in late.refused


def test_a_marker_of_the_last_message_within_a_macro() -> None:
    report = report_of("last_message")
    first = mode_of(report, "chat")[0]
    assert (first.shape, first.kind) == ("last_message", "template_flip")
    assert first.line == line_with("last_message", "(answer this one)")
    assert first.here.startswith("(answer this one)\nWhich")


def test_the_head_of_a_reply_that_flips_and_two_begin_tokens() -> None:
    report = report_of("trailing_flip")
    assert report.has_two_bos
    first = mode_of(report, "chat")[0]
    assert (first.shape, first.here, first.chars_lost) == ("generation_prompt", "\n", 1)
    assert first.line == line_with("trailing_flip", "'<|assistant|>\\n'")


def test_a_late_system_message_that_is_hoisted() -> None:
    report = report_of("hoisted_system")
    assert broken_modes(report) == {"system message late"}
    (one,) = mode_of(report, "system message late")
    assert (one.shape, one.turn) == ("system_moved", 1)
    assert one.line == line_with("hoisted_system", "message.role + '|>'")
    assert one.next_line == line_with("hoisted_system", "'<|system|>'")


LINED = """\
{% macro both(a, b) -%}
m1 {{ a }}
m2 {{ b }}
{%- endmacro -%}
plain 5
{% set kept %}
kept 7 {{ messages[0].content }}
{% endset -%}
{{- kept }}
{%- for message in messages %}

row 12 {{ message.role
   + '!' }}
{%- endfor %}
{% filter upper %}upper 15{% endfilter %}
{{ both('qa', 'zed') }}
"""


def test_every_character_knows_its_line() -> None:
    found = LinedTemplate(LINED, {}).render([{"role": "user", "content": "text"}])
    lines = {
        "plain 5": 5, "kept 7 ": 7, "text": 7, "row 12": 12, "user!": 12, "UPPER": 15,
        "m1 ": 2, "qa": 2, "m2 ": 3, "zed": 3,
    }  # fmt: skip
    for words, line in lines.items():
        at = found.text.index(words)
        assert {found.line_at(at + n) for n in range(len(words))} == {line}, words


def test_where_marks_would_change_the_text_the_printing_line_is_told() -> None:
    source = (
        "{% macro padded() %}\n  wide  \n{% endmacro %}\n"
        "{{ padded() | trim | length }} {{ padded() | trim }}"
    )
    found = LinedTemplate(source, {}).render([{"role": "user", "content": ""}])
    assert found.text == "4 wide"
    assert found.line_at(0) == 4
    assert found.line_at(found.text.index("wide")) == 4


def test_tokens_are_compared_where_the_folder_has_a_tokenizer(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    source = (TEMPLATES / "clean_chatml.jinja").read_text()
    texts = source + "".join(json.dumps(m) for d in dialogues() for m in d.messages) + "0123456789"
    characters = sorted({*texts, *'{}[]":, \n<|>_/=', *map(chr, range(32, 127))})
    vocabulary = {character: at for at, character in enumerate([*characters, "\nT"])}
    model = tokenizers.models.BPE(vocabulary, [("\n", "T")])  # "There" begins with it
    tokenizers.Tokenizer(model).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text(source)
    (report,) = template_report(str(tmp_path))
    assert report.has_tokens
    first = mode_of(report, "chat")[0]
    assert (first.shape, first.kind, first.tokens_lost) == ("seam", "seam_merge", 1)
    assert first.line == line_with("clean_chatml", "'<|im_start|>assistant\\n'")


def test_a_config_with_a_template_and_special_tokens(tmp_path: Path) -> None:
    source = (TEMPLATES / "trailing_flip.jinja").read_text()
    config = {"chat_template": source, "bos_token": {"content": "<s>"}}
    file = tmp_path / "tokenizer_config.json"
    file.write_text(json.dumps(config))
    for path in (file, tmp_path):
        (report,) = template_report(str(path))
        assert report.has_two_bos
        assert report.notes == ()
    alone = report_of("trailing_flip")
    assert alone.notes == ("no tokenizer_config.json beside it: bos_token is a stand-in",)


def test_each_named_template_is_checked(tmp_path: Path) -> None:
    clean = (TEMPLATES / "clean_chatml.jinja").read_text()
    flips = (TEMPLATES / "hoisted_system.jinja").read_text()
    named = [{"name": "default", "template": clean}, {"name": "tool_use", "template": flips}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    found = {one.name: one.is_append_only for one in template_report(str(tmp_path))}
    assert found == {"default": True, "tool_use": False}


def test_a_template_that_loops_for_ever_is_refused_not_run() -> None:
    source = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"
    report = check_template(source)
    assert all(mode.refused and "steps" in mode.refused for mode in report.modes)


@pytest.mark.parametrize("source", ["{% if %}", "{{ a", "{% for x in %}", "{{ " + "(" * 5000])
def test_a_template_that_cannot_be_read_is_told(source: str) -> None:
    with pytest.raises(SettingError, match="chat template"):
        check_template(source)


def test_bad_files_are_one_line(tmp_path: Path) -> None:
    binary = tmp_path / "t.jinja"
    binary.write_bytes(b"\xff\xfe\x00")
    plain = tmp_path / "t.json"
    plain.write_text("[1]")
    broken = tmp_path / "u.json"
    broken.write_text("{")
    for path in (tmp_path / "none.jinja", binary, plain, broken):
        with pytest.raises(InputError) as caught:
            template_report(str(path))
        assert "\n" not in str(caught.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SettingError, match="no chat template"):
        template_report(str(tmp_path / "empty"))


def test_the_page_marks_the_character_and_the_document_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.json"
    assert not run_template(str(TEMPLATES / "qwen3_like.jinja"), str(out))
    page = capsys.readouterr().out
    assert "not append-only in 4 of 15 modes" in page
    assert f"line {line_with('qwen3_like', '<think>' + chr(92) + 'n' + chr(92) + 'n')}" in page
    document = json.loads(out.read_text())
    assert document == json.loads(json.dumps(template_document([report_of("qwen3_like")])))
    (template,) = document["templates"]
    assert template["append_only"] is False
    first = next(mode for mode in template["modes"] if mode["mode"] == "thinking off")["breaks"][0]
    assert first["kind"] == "template_flip"
    assert first["char_offset"] + first["chars_lost"] == first["num_chars"]


def test_a_template_that_renders_nothing_is_not_known_to_be_append_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "refuse.jinja"
    path.write_text('{{ raise_exception("not today") }}')
    out = tmp_path / "t.json"
    assert not run_template(str(path), str(out))
    page = capsys.readouterr().out
    assert "renders none of the dialogues, so nothing is known" in page
    assert "not today" in page
    assert json.loads(out.read_text())["templates"][0]["append_only"] is None


def test_errors_name_the_option_that_was_typed(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jinja"
    bad.write_text("{% if %}")
    (tmp_path / "empty").mkdir()
    for path, cause in ((bad, 'chat template "default", line 1'), (tmp_path / "empty", "no chat")):
        with pytest.raises(SettingError, match=f"^--template {re.escape(str(path))}: {cause}"):
            run_template(str(path))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="neither a file nor a folder"):
        run_template(str(pipe))


def test_a_filter_that_makes_a_text_of_ten_gigabytes_ends(tmp_path: Path) -> None:
    path = tmp_path / "long.jinja"
    path.write_text('{{ ("a" * 100000) | replace("a", "b" * 100000) }}')
    before = time.monotonic()
    assert not run_template(str(path), str(tmp_path / "t.json"))
    assert time.monotonic() - before < 60
    (template,) = json.loads((tmp_path / "t.json").read_text())["templates"]
    assert all(mode["refused"] for mode in template["modes"])


@pytest.mark.parametrize("source", ["", "{{ 9 }}", "a text"])
def test_a_template_that_renders_no_message_is_not_known(source: str) -> None:
    report = check_template(source)
    assert report.is_append_only is None
    assert {mode.refused for mode in report.modes} == {"it renders no message"}


@pytest.mark.parametrize(
    ("given", "named"),
    [(["--fix", "x.jsonl"], "--fix"), (["--no-content"], "--no-content"), (["t.jsonl"], "a trace")],
)
def test_what_is_for_a_trace_is_refused_beside_a_template(
    given: list[str], named: str, tmp_path: Path
) -> None:
    template = str(TEMPLATES / "clean_chatml.jinja")
    done = CliRunner().invoke(app, ["doctor", "--template", template, *given])
    assert isinstance(done.exception, SettingError)
    assert named in str(done.exception)
