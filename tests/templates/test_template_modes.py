"""What clients send otherwise: replies without their reasoning, arguments as text, thinking that is
switched between turns. Templates written by hand after known ones."""

from hitpath.doctor.templates import TemplateReport, check_template

ROWS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
HEAD = "{% if add_generation_prompt %}<assistant>{% endif %}"


def prompts_broken(report: TemplateReport) -> dict[str, set[str]]:
    """Shapes by mode, of breaks of prompts."""
    return {
        mode.mode: {one.shape for one in mode.breaks if one.part == "prompt"}
        for mode in report.modes
        if any(one.part == "prompt" for one in mode.breaks)
    }


def test_thinking_that_is_not_sent_back() -> None:
    """As poolside's Laguna: the head opens the thought, a history without one closes it at once."""
    source = (
        "{% for m in messages %}{% if m.role == 'assistant' %}<assistant>"
        "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>"
        "{% else %}</think>{% endif %}{{ m.content }}</assistant>"
        "{% else %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<assistant>"
        "{% if enable_thinking %}<think>{% else %}</think>{% endif %}{% endif %}"
    )
    found = prompts_broken(check_template(source))
    assert "thinking" not in found
    assert "thinking, not sent back" in found
    assert "tools, thinking, not sent back" in found
    assert "thinking off" not in found


def test_an_empty_reasoning_that_is_sent_back() -> None:
    """Servers tell an empty reasoning where there was none; `is defined` takes it for one."""
    source = (
        "{% for m in messages %}{% if m.role == 'assistant' %}<assistant>"
        "{% if m.reasoning_content is defined %}<think>{{ m.reasoning_content }}{% endif %}"
        "</think>{{ m.content }}</assistant>"
        "{% else %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<assistant>"
        "{% if enable_thinking %}<think>{% else %}</think>{% endif %}{% endif %}"
    )
    found = prompts_broken(check_template(source))
    assert "thinking off" not in found
    assert found["thinking off, sent back empty"] == {"empty_think_block"}


def test_a_switch_ahead_of_the_dialogue() -> None:
    """As Gemma's: the text of the system begins with the switch."""
    source = "{% if enable_thinking %}<|think|>{% endif %}" + ROWS + HEAD
    found = prompts_broken(check_template(source))
    assert found == {"thinking on and off by turns": {"thinking_switch"}}


def test_a_switch_in_the_last_question() -> None:
    """As GLM-4.6's `/nothink`: it stands in the last message, so earlier ones change too."""
    source = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
        "{% if m.role == 'user' and enable_thinking is defined and not enable_thinking %}"
        "/nothink{% endif %}</{{ m.role }}>{% endfor %}" + HEAD
    )
    found = prompts_broken(check_template(source))
    assert found == {"thinking on and off by turns": {"thinking_switch"}}


def test_a_mark_of_the_last_message_is_no_switch() -> None:
    """What every mode has is not the switch's."""
    source = (
        "{# think #}{% for m in messages %}<{{ m.role }}>{% if loop.last %}(now) {% endif %}"
        "{{ m.content }}</{{ m.role }}>{% endfor %}" + HEAD
    )
    found = prompts_broken(check_template(source))
    assert found["chat"] == found["thinking on and off by turns"] == {"last_message"}


def test_arguments_as_text() -> None:
    """As functionary's: it joins them to a text, which an object is not."""
    source = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
        "{% for call in m.tool_calls or [] %}{{ call.function.name + call.function.arguments }}"
        "{% endfor %}</{{ m.role }}>{% endfor %}" + HEAD
    )
    report = check_template(source)
    assert [mode.mode for mode in report.modes if mode.refused] == []
    assert "tools, arguments as text" in [mode.mode for mode in report.modes]
    assert report.is_append_only


def test_what_no_form_helps_is_refused_in_the_template_s_own_words() -> None:
    source = "{% if tools %}{{ raise_exception('no tools here') }}{% endif %}" + ROWS + HEAD
    refused = {mode.mode: mode.refused for mode in check_template(source).modes if mode.refused}
    assert set(refused) == {"tools", "tools, several results"}
    assert all("no tools here" in str(words) for words in refused.values())
