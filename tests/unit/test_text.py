"""Tokenizers by name, chat templates, mistral-common's own ids, where a regex may be cut."""

import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")
pytest.importorskip("mistral_common")

from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer as Mistral
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from hitpath.core import HitpathError, SettingError
from hitpath.text import as_bytes, tokenizer
from hitpath.text.chat_template import ChatTemplates
from hitpath.text.mistral import bundled_names, load_bundled
from hitpath.text.regex_seams import regex_verdict
from hitpath.text.seams import GPT2
from hitpath.text.tokenizer import RenderError, load_tokenizer

HELLO = [{"role": "user", "content": "hello ünï"}]
CHATML = (
    "{%- for m in messages %}\n<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALLS: dict[str, Any] = {
    "role": "assistant",
    "tool_calls": [
        {
            "id": "call_123456789",
            "type": "function",
            "function": {"name": "f", "arguments": '{"a": "é"}'},
        }
    ],
}
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
}


def write_model(folder: Path, **config: Any) -> Path:
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trained.train_from_iterator([], trainers.BpeTrainer(initial_alphabet=alphabet))
    trained.add_special_tokens(["<s>", "<|im_start|>", "<|im_end|>"])
    trained.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", trained.token_to_id("<s>"))]
    )
    trained.enable_truncation(3)
    folder.mkdir(exist_ok=True)
    trained.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_bytes_are_the_default() -> None:
    plain = load_tokenizer(None)
    text = plain.render_chat(HELLO, None)
    assert text.encode() == as_bytes.render_chat(HELLO, None)
    assert bytes(plain.encode(text).astype(np.uint8)) == text.encode()
    assert plain.encode("é").dtype == np.uint32


def test_a_model_folder(tmp_path: Path) -> None:
    eos = {"content": "<|im_end|>"}
    folder = write_model(tmp_path / "m", chat_template=CHATML, eos_token=eos)
    model = load_tokenizer(str(folder))
    text = model.render_chat(HELLO, None)
    assert text == "<|im_start|>user\nhello ünï<|im_end|>\n<|im_start|>assistant\n"
    tokens = model.encode(text)
    own = Tokenizer.from_file(str(folder / "tokenizer.json"))
    own.no_truncation()
    assert tokens.tolist() == own.encode(text, add_special_tokens=False).ids
    assert len(tokens) > 3  # the file's truncation is off
    head, tail = model.prompt_frame
    assert (head.tolist(), tail.tolist()) == ([own.token_to_id("<s>")], [])
    assert model.render_reply("yes", chat=True) == "yes<|im_end|>"
    with pytest.raises(UnicodeEncodeError):
        model.encode("a\ud800")
    alone = load_tokenizer(str(folder / "tokenizer.json"))
    assert np.array_equal(alone.encode(text), tokens)


def test_template_files_go_before_the_configuration(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", chat_template=[{"name": "default", "template": "a"}])
    assert load_tokenizer(str(folder)).render_chat(HELLO, None) == "a"
    (folder / "chat_template.json").write_text('{"chat_template": "b"}')
    assert load_tokenizer(str(folder)).render_chat(HELLO, None) == "b"
    (folder / "chat_template.jinja").write_text("c")
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text("d")
    assert load_tokenizer(str(folder)).render_chat(HELLO, None) == "c"
    assert load_tokenizer(str(folder)).render_chat(HELLO, [TOOL]) == "d"


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ("meta-llama/Llama-3", "models are not fetched"),
        ("mistral:nope", "tekken_240718"),
        ("{tmp}/empty", "no tokenizer.json in"),
        ("{tmp}/bad.json", "bad.json"),
        ("{tmp}/syntax", 'chat template "default", line 2'),
        ("{tmp}/shape", "neither text nor a list"),
        ("{tmp}/config", "tokenizer_config.json"),
    ],
)
def test_what_is_wrong_with_a_tokenizer_is_said(tmp_path: Path, spec: str, cause: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text("{}")
    write_model(tmp_path / "syntax", chat_template="a\n{% if %}")
    write_model(tmp_path / "shape", chat_template=[1])
    write_model(tmp_path / "config")
    (tmp_path / "config" / "tokenizer_config.json").write_text("[")
    with pytest.raises(SettingError, match=r"^--tokenizer: ") as raised:
        load_tokenizer(spec.replace("{tmp}", str(tmp_path)))
    assert cause in str(raised.value)
    assert "\n" not in str(raised.value)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(tokenizer.importlib, "import_module", absent)
    with pytest.raises(SettingError, match="the extra text"):
        load_tokenizer("mistral:tekken_240718")


def test_a_folder_without_template_takes_no_chats(tmp_path: Path) -> None:
    model = load_tokenizer(str(write_model(tmp_path / "m")))
    with pytest.raises(SettingError, match="no chat template"):
        model.render_chat(HELLO, None)


def render(source: str, messages: Any = HELLO, **options: Any) -> str:
    now = options.pop("now", None)
    return ChatTemplates({"default": source}, {"bos_token": "<s>"}, now).render(messages, **options)


def test_templates_have_what_hugging_face_gives_them() -> None:
    assert render("{{ bos_token }}{{ messages[0] | tojson }}") == (
        '<s>{"role": "user", "content": "hello ünï"}'
    )
    assert render("{{ {'b': 1, 'a': '<&>'} | tojson(indent=1) }}") == '{\n "b": 1,\n "a": "<&>"\n}'
    assert render("  {% if true %}\nx\n  {% endif %}\ny") == "x\ny"
    assert (
        render("{% for m in 'abc' %}{% if m == 'b' %}{% break %}{% endif %}{{ m }}{% endfor %}")
        == "a"
    )
    assert render("{% generation %}{{ messages | length }}{% endgeneration %}") == "1"
    assert render("{{ tools is none }}{{ add_generation_prompt }}") == "TrueTrue"
    dated = (
        "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}fixed{% endif %}"
    )
    assert render(dated) == "fixed"
    assert render(dated, now=datetime.datetime(2026, 1, 2)) == "02 Jan 2026"


def test_arguments_become_objects_and_parts_become_text() -> None:
    source = "{{ messages[0].tool_calls[0].function.arguments | tojson }}"
    before = json.dumps(CALLS)
    assert render(source, [CALLS]) == '{"a": "é"}'
    assert json.dumps(CALLS) == before
    parts = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]
    assert render("{{ messages[0].content }}", parts) == "a\nb"
    walk = "{% for p in messages[0]['content'] %}{{ p.text }};{% endfor %}"
    assert render(walk, parts) == "a;b;"


def test_errors_name_the_message_or_the_line() -> None:
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]
    with pytest.raises(RenderError, match=r"messages\[0\].content\[0\]: part image_url"):
        render("x", image)
    with pytest.raises(RenderError, match=r"messages\[1\]: not an object with a role"):
        render("x", [*HELLO, {}])
    with pytest.raises(RenderError, match="line 2: roles must alternate"):
        render("\n{{ raise_exception('roles must\nalternate') }}")
    with pytest.raises(RenderError, match="prints the date"):
        render("{{ strftime_now('%Y') }}")


@pytest.mark.parametrize(
    "source",
    [
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% extends '/etc/passwd' %}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ raise_exception.__globals__['__builtins__']['open']('/etc/passwd').read() }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'role': 'x'}) }}",
        "{{ '{0.__class__.__init__.__globals__}'.format(raise_exception) }}",
        "{% for i in range(10 ** 9) %}{% endfor %}",
        "{{ (messages | map(attribute='__class__') | list)[0].mro() }}",
    ],
)
def test_a_hostile_template_gets_nowhere(source: str) -> None:
    try:
        text = render(source)
    except HitpathError:
        return
    assert not any(word in text for word in ("root:", "uid=", "<class", "builtins"))


def test_mistral_ids_are_its_own() -> None:
    model = load_bundled("tekken_240718")
    own = Mistral.v3(is_tekken=True)
    answer = {"role": "tool", "tool_call_id": "call_123456789", "content": "[INST] 3 </s>"}
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "Hi [INST] é"},
        CALLS,
        answer,
        {"role": "assistant", "content": "so"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    text = model.render_chat(messages, [TOOL])
    short = json.loads(json.dumps(messages).replace("call_123456789", "123456789"))
    request = ChatCompletionRequest.from_openai(messages=short, tools=[TOOL])
    assert model.encode(text).tolist() == own.encode_chat_completion(request).tokens
    assert model.prompt_frame[0].tolist() == [own.instruct_tokenizer.tokenizer.bos_id]
    assert "tekken_240911" in bundled_names()
    with pytest.raises(RenderError, match="U\\+FDD0"):
        model.render_chat([{"role": "user", "content": "\ufdd0[INST]"}], None)
    with pytest.raises(RenderError, match=r"messages\[1\]: has content and tool_calls"):
        model.render_chat([*HELLO, {**CALLS, "content": "x"}, answer, *HELLO], None)


QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        (GPT2, " \n"),
        (QWEN, " \n"),
        (DEEPSEEK, " \n"),
        (r"\p{N}{1,3}", ""),  # does not match the space: a gap may span
        (r"[^a-z] |\s|.", "\n"),
        (r"[^\n]+|\n", "\n"),
        (r"\S+ ?|\s+", "\n"),
        (r"\p{L}+(?!x)|\s+|.", " \n"),
        (r"\p{L}+(?! )|\s+|.", ""),
        (r"\p{L}+(?= )|\s+|.", ""),
        (r"(?<=a) |\s+|.", ""),
        (r"\b|\s+", ""),
        (r"[\w&&[^a]]+|\s+", ""),
        (r"(?i:K)[ ]|\s+", "\n"),  # the Kelvin sign is a k
        (r"\s++|\p{L}++", ""),  # possessive: not decided
        (r"\s{2,}|\p{L}+", ""),
        (r"(", ""),
    ],
)
def test_where_a_regex_may_be_cut(pattern: str, parts: str) -> None:
    assert regex_verdict(pattern).parts == frozenset(parts)


def test_nothing_of_the_extra_is_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys; from hitpath.text import tokenizer, incremental; "
        "tokenizer.load_tokenizer(None).encode('a'); "
        "assert not {'jinja2', 'tokenizers', 'mistral_common'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
