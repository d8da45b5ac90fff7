"""Chat templates as Hugging Face model folders carry them, rendered in jinja2's sandbox.

The environment is the one that templates are written for: blocks trimmed, `tojson` that keeps
non-ASCII text, `raise_exception`, `break` and `continue`, `{% generation %}`, the special tokens by
name, `messages`, `tools`, `add_generation_prompt`. As vLLM does, tool-call arguments that are JSON
text become objects, and text parts become one string where the template does not walk over them.
Not there: files, other templates, the network, the clock (`strftime_now` exists only where a date
is given), chance. Loops and the length of texts are limited (template_budget.py).
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hitpath.core import SettingError
from hitpath.text.template_budget import budgeted, limited
from hitpath.text.tokenizer import OPTION, RenderError, needed

DEFAULT = "default"
TOOL_USE = "tool_use"
_FILE = "<chat template>"


class ChatTemplates:
    """The templates of a model by name, with its special tokens.

    `templates` maps names to sources; "tool_use", where there is one, is taken for requests with
    tools, else "default". `special_tokens` are variables such as `bos_token`.
    Raises SettingError for a template that cannot be read, with its line.
    """

    def __init__(
        self,
        templates: Mapping[str, str],
        special_tokens: Mapping[str, str],
        now: datetime | None = None,
    ) -> None:
        self._special_tokens = dict(special_tokens)
        environment = _environment(now)
        self._start = environment.start
        self._compiled: dict[str, Any] = {}
        self._walks_parts: dict[str, bool] = {}
        for name, source in templates.items():
            self._compiled[name] = _compile(environment, name, source)
            self._walks_parts[name] = _walks_content(environment.parse(source))

    def render(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool = True,
    ) -> str:
        """The prompt's text. Raises RenderError with the message or the template's line."""
        name = TOOL_USE if tools and TOOL_USE in self._compiled else DEFAULT
        if name not in self._compiled:
            known = ", ".join(self._compiled) or "none"
            raise RenderError(
                "messages", f'the model has no "{name}" chat template; it has {known}'
            )
        walks = self._walks_parts[name]
        prepared = [prepare_message(at, message, walks) for at, message in enumerate(messages)]
        self._start(len(prepared))
        try:
            return str(
                self._compiled[name].render(
                    **self._special_tokens,
                    messages=prepared,
                    tools=list(tools) if tools else None,
                    documents=None,
                    add_generation_prompt=add_generation_prompt,
                )
            )
        except Exception as error:  # a template is a program: anything can go wrong in it
            raise RenderError("messages", _told(error)) from error


def prepare_message(at: int, message: dict[str, Any], walks_parts: bool) -> dict[str, Any]:
    """A copy for the template. Raises RenderError for what is not text."""
    place = f"messages[{at}]"
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise RenderError(place, "not an object with a role")
    prepared = dict(message)
    content = message.get("content")
    if isinstance(content, list):
        texts = [_text_part(f"{place}.content[{n}]", part) for n, part in enumerate(content)]
        if walks_parts:
            prepared["content"] = [{"type": "text", "text": text} for text in texts]
        else:
            prepared["content"] = "\n".join(texts)
    elif content is not None and not isinstance(content, str):
        raise RenderError(f"{place}.content", "neither text nor a list of parts")
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        prepared["tool_calls"] = [
            _call(f"{place}.tool_calls[{n}]", call) for n, call in enumerate(calls)
        ]
    return prepared


def _text_part(place: str, part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type", "without a type") if isinstance(part, dict) else type(part).__name__
    raise RenderError(place, f"part {kind}: only text can be tokenised")


def _call(place: str, call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise RenderError(place, "has no function")
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        return call
    try:
        parsed = json.loads(arguments) if arguments else {}
    except ValueError:
        parsed = arguments  # what the model wrote, though it is not JSON
    return {**call, "function": {**function, "arguments": parsed}}


def _environment(now: datetime | None) -> Any:
    sandbox = needed("jinja2.sandbox", "jinja2")
    jinja2 = needed("jinja2", "jinja2")
    nodes = needed("jinja2.nodes", "jinja2")

    class Generation(needed("jinja2.ext", "jinja2").Extension):  # type: ignore[misc]
        """`{% generation %}` marks what training learns from; here it is only its body."""

        tags = frozenset({"generation"})

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body).set_lineno(line)

    def raise_exception(message: str) -> None:
        raise jinja2.exceptions.TemplateError(message)

    def strftime_now(form: str) -> str:
        assert now is not None
        return now.strftime(form)

    environment = budgeted(sandbox.ImmutableSandboxedEnvironment)(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Generation, "jinja2.ext.loopcontrols"],
    )
    environment.filters["tojson"] = limited(_tojson)
    environment.globals["raise_exception"] = raise_exception
    if now is not None:
        environment.globals["strftime_now"] = strftime_now
    return environment


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _compile(environment: Any, name: str, source: str) -> Any:
    jinja2 = needed("jinja2", "jinja2")
    try:
        code = environment.compile(source, filename=_FILE)
    except jinja2.TemplateSyntaxError as error:
        cause = f'chat template "{name}", line {error.lineno}: {error.message}'
        raise SettingError(OPTION, cause) from error
    except (RecursionError, SyntaxError, ValueError, TypeError) as error:
        raise SettingError(OPTION, f'chat template "{name}": {error}') from error
    return environment.template_class.from_code(environment, code, dict(environment.globals))


def _walks_content(tree: Any) -> bool:
    """Whether the template has a loop over the parts of a content."""
    nodes = needed("jinja2.nodes", "jinja2")
    for loop in tree.find_all(nodes.For):
        over = loop.iter
        while isinstance(over, nodes.Filter):
            over = over.node
        if isinstance(over, nodes.Name) and over.name == "content":
            return True
        if isinstance(over, nodes.Getattr) and over.attr == "content":
            return True
        if isinstance(over, nodes.Getitem) and getattr(over.arg, "value", None) == "content":
            return True
    return False


def _told(error: Exception) -> str:
    """One line: the template's line, where known, and what went wrong there."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    what = " ".join(str(error).split()) or type(error).__name__
    if "strftime_now" in what:
        what += " (the template prints the date, and none is given)"
    return f"chat template, line {line}: {what}" if line else f"chat template: {what}"
