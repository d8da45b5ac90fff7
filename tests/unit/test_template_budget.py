"""Chat templates that loop, recurse or grow without end are stopped; honest ones are not."""

import json
from typing import Any

import pytest

pytest.importorskip("jinja2")

from hitpath.text.chat_template import ChatTemplates
from hitpath.text.template_budget import MAX_CHARS, MAX_STEPS
from hitpath.text.tokenizer import RenderError
from support import shared_data

HELLO = [{"role": "user", "content": "hello"}]


def render(source: str, messages: Any = HELLO, tools: Any = None) -> str:
    return ChatTemplates({"default": source}, {"bos_token": "<s>"}).render(messages, tools)


LIST = "{% set l = range(9999)|list %}{% for i in l %}"
TEXT = "{% set ns = namespace(s='ab', l=[1], n=3) %}{% for i in range(99) %}"
LOOPS = [
    "{% for i in range(10 ** 9) %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    LIST + "{% for j in l if false %}{% endfor %}{% endfor %}",
    LIST + "{% for j in l|map('abs') %}{% endfor %}{% endfor %}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{% macro f(n) %}{% if n %}{% for i in [1, 2] %}{{ f(n - 1) }}{% endfor %}{% endif %}"
    "{% endmacro %}{{ f(60) }}",
    "{% for i in [[1, 1]] recursive %}{% if loop.depth < 60 %}{{ loop([i, i]) }}{% endif %}"
    "{% endfor %}",
    "{% for i in range(9) recursive %}{{ loop(range(99999)) }}{% endfor %}",
    "{% for i in range(999) %}{% set l = [1] * 99999 %}{% endfor %}",
    "{% for i in range(999) %}{{ range(99999)|list|length }}{% endfor %}",
]
GROWTH = [
    "{% for i in range(99999) %}{{ messages[0].content * 9999 }}{% endfor %}",
    TEXT + "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    TEXT + "{% set ns.s = ns.s + ns.s %}{% endfor %}",
    TEXT + "{% set ns.s = ns.s + '' + ns.s %}{% endfor %}",
    TEXT + "{% set ns.l = ns.l + ns.l %}{% endfor %}",
    TEXT + "{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% endfor %}",
    TEXT + "{% set ns.n = ns.n * ns.n %}{% endfor %}",
    "{% set a = 'ab' %}" + "{% set a = a + a + '' %}" * 60,
    "{% macro f(s, n) %}{{ f(s ~ s, n - 1) if n else s }}{% endmacro %}{{ '>' ~ f('ab', 60) }}",
    "{{ 'a' * 10 ** 10 }}",
    "{{ 10 ** 9 * 'a' }}",
    "{{ [1] * 10 ** 10 }}",
    "{{ 10 ** (10 ** 10) }}",
]
WIDTHS = [
    "{{ 'a'.ljust(10 ** 9) }}",
    "{{ 'a'.center(10 ** 9) }}",
    "{{ 'a'|center(10 ** 9) }}",
    "{{ 'a'|indent(10 ** 9, first=true) }}",
    "{{ [1]|batch(10 ** 9, 'x')|list }}",
    "{{ [1]|slice(10 ** 9)|list }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%*d' % (10 ** 9, 1) }}",
    "{{ '%1000000000d'|format(1) }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:{}}'.format(1, 10 ** 9) }}",
    "{{ (1).to_bytes(10 ** 9, 'big') }}",
    "{{ [[1]]|tojson(indent=10 ** 9) }}",
]


@pytest.mark.parametrize("source", LOOPS + GROWTH + WIDTHS)
def test_what_never_ends_is_stopped(source: str) -> None:
    with pytest.raises(RenderError) as caught:
        render(source)
    cause = caught.value.cause
    assert cause.startswith("chat template")
    assert any(word in cause for word in ("steps", "characters", "bits", "width")), cause


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (LOOPS[1], f"chat template, line 1: it loops for more than {MAX_STEPS + 4:,} steps"),
        (GROWTH[0], f"chat template: more than {MAX_CHARS:,} characters of text"),
    ],
)
def test_the_cause_is_plain(source: str, cause: str) -> None:
    with pytest.raises(RenderError) as caught:
        render(source)
    assert (caught.value.field, caught.value.cause) == ("messages", cause)


def test_each_rendering_has_the_whole_budget() -> None:
    templates = ChatTemplates(
        {"default": "{% for i in range(400000) %}{% endfor %}{{ messages[0].content }}"}, {}
    )
    for _ in range(4):
        assert templates.render(HELLO) == "hello"


def test_templates_that_look_back_at_each_message_are_not_stopped() -> None:
    source = (
        "{% for m in messages %}{% for other in messages[loop.index0:] %}{% endfor %}{% endfor %}"
        "{{ messages|length }}"
    )
    assert render(source, HELLO * 1500) == "1500"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{{ loop.length }}{% endfor %}", "a11"),
        ("{% for i in [3, 4, 5] if i != 4 %}{{ loop.index }}{{ i }}{% endfor %}", "1325"),
        ("{% for i in [3, 4] %}{{ loop.last }}{% endfor %}", "FalseTrue"),
        ("{% for i in absent %}x{% else %}none{% endfor %}", "none"),
        ("{% for i in 'abc'|map('upper') %}{{ i }}{{ loop.revindex }}{% endfor %}", "A3B2C1"),
        (
            "{% for i in ['a', ['b']] recursive %}{{ i if i is string else loop(i) }}{% endfor %}",
            "ab",
        ),
        ("{{ 1 + 2 }}{{ 2 * 3 }}{{ 7 % 4 }}{{ 2 ** 5 }}{{ 'ab' * 2 }}", "36332abab"),
        ("{{ [1] * 2 + [3] }}{{ 2 * 1.5 }}", "[1, 1, 3]3.0"),
        ("{{ 'a' + 'b' + messages[0].content }}{{ 1 ~ 2 ~ (3 + 4) }}", "abhello127"),
        ("{% macro m(x, y='-') %}{{ x + y }}{% endmacro %}{{ m('b', y=m('c')) }}", "bc-"),
        (
            "{% macro m() %}<{{ caller('y') }}>{% endmacro %}{% call(x) m() %}{{ x }}{% endcall %}",
            "<y>",
        ),
        ("{{ '%s-%02d' % ('a', 3) }}{{ '%s'|format(4) }}{{ '{:>3}'.format('x') }}", "a-034  x"),
        ("{{ 'x'.center(5) }}{{ 'x'|center(3) }}{{ 'a\nb'|indent(2) }}", "  x   x a\n  b"),
        ("{% for i in range(300) %}{{ '' }}{% endfor %}end", "end"),
        (
            "{% set t %}{% for i in range(200) %}{{ i }},{% endfor %}{% endset %}{{ t[-4:] }}",
            "199,",
        ),
        ("{% filter upper %}a{{ 'b' ~ 'c' }}{% endfilter %}", "ABC"),
    ],
)
def test_templates_mean_what_they_meant(source: str, text: str) -> None:
    assert render(source) == text


def test_nothing_is_random() -> None:
    with pytest.raises(RenderError, match="lipsum"):
        render("{{ lipsum(n=1) }}")


def test_real_chats_render_as_without_limits() -> None:
    import jinja2.sandbox

    source = (
        "{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}"
        "{{ '<call>' + c.function.name + (c.function.arguments | tojson) }}{% endfor %}"
        "{% else %}{{ '<' + m.role + '>' + (m.content or '') | trim + '>' }}{% endif %}{% endfor %}"
    )
    plain = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    plain.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = plain.from_string(source)
    path = shared_data("tau_bench/airline_gpt4o_requests.jsonl")
    for line in path.read_text().splitlines()[::10]:
        messages = json.loads(line)["messages"]
        for message in messages:
            for call in message.get("tool_calls") or ():
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        assert render(source, messages) == template.render(messages=messages)
