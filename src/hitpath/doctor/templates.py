"""Whether a chat template is append-only: is turn n the beginning of turn n + 1?

A prefix cache serves a dialogue well only if each prompt begins with the one before it. Templates
are programs, and many write a message otherwise once it is history: they strip its reasoning, drop
an empty think block, move the tools to the last message, print the date. Here a template renders
dialogues of many modes turn by turn, and the first character that differs is told with the line of
the template that wrote it. Nothing is run but jinja2's sandbox, with limits (text/).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hitpath.core import InputError, SettingError
from hitpath.doctor.template_breaks import Encode, TemplateBreak, Turn, breaks_of
from hitpath.doctor.template_dialogues import Dialogue, dialogues, with_arguments_as_text
from hitpath.doctor.template_lines import LinedTemplate
from hitpath.text import hugging_face
from hitpath.text.tokenizer import OPTION, RenderError

_FIRST_DAY = datetime(2026, 3, 3, 14, 22, 31, tzinfo=UTC)
_LONGEST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ModeResult:
    """One mode. refused: what the template said instead of rendering it, None where it did; such
    a mode says nothing about prefixes. num_pairs: turns that have a next one."""

    mode: str
    refused: str | None
    num_pairs: int
    breaks: tuple[TemplateBreak, ...]


@dataclass(frozen=True, slots=True)
class TemplateReport:
    """One template. has_two_bos: its text begins with two begin tokens. has_tokens: whether tokens
    were compared too, else characters only."""

    path: str
    name: str
    modes: tuple[ModeResult, ...]
    has_two_bos: bool
    has_tokens: bool
    notes: tuple[str, ...]

    @property
    def is_append_only(self) -> bool | None:
        """Whether every prompt of every rendered mode is the beginning of the next one; None where
        no mode was rendered."""
        if all(mode.refused is not None for mode in self.modes):
            return None
        return not any(one.part == "prompt" for mode in self.modes for one in mode.breaks)

    @property
    def breaks(self) -> tuple[TemplateBreak, ...]:
        return tuple(one for mode in self.modes for one in mode.breaks)


def check_template(
    source: str,
    *,
    special_tokens: Mapping[str, str] | None = None,
    encode: Encode | None = None,
    path: str = "",
    name: str = "default",
) -> TemplateReport:
    """Every mode that the template speaks of. encode: text to token ids. Raises SettingError for a
    template that cannot be read, with its line."""
    tokens, notes = _tokens_of(source, special_tokens)
    template = LinedTemplate(source, tokens)
    modes = []
    has_two_bos = False
    for dialogue in dialogues():
        if dialogue.needs_words and not any(word in source for word in dialogue.needs_words):
            continue
        try:
            dialogue, turns = _tried(template, dialogue)
        except RenderError as error:
            modes.append(ModeResult(dialogue.mode, str(error.cause), 0, ()))
            continue
        said = [message.get("content") for message in dialogue.messages]
        if not any(
            text and isinstance(text, str) and text in turns[-1].prompt.text for text in said
        ):
            modes.append(ModeResult(dialogue.mode, "it renders no message", 0, ()))
            continue
        bos = tokens.get("bos_token")
        has_two_bos |= bool(bos) and turns[0].prompt.text.startswith(f"{bos}{bos}")
        found = breaks_of(dialogue, turns, encode)
        modes.append(ModeResult(dialogue.mode, None, len(turns) - 1, tuple(found)))
    return TemplateReport(path, name, tuple(modes), has_two_bos, encode is not None, notes)


def _tried(template: LinedTemplate, dialogue: Dialogue) -> tuple[Dialogue, list[Turn]]:
    """The dialogue and its turns; with the arguments of calls as text, or without its system
    message, where the template wants that. Raises RenderError, that of the dialogue as it is."""
    try:
        return dialogue, _rendered(template, dialogue)
    except RenderError:
        for other in _other_forms(dialogue):
            try:
                return other, _rendered(template, other)
            except RenderError:
                continue
        raise


def _other_forms(dialogue: Dialogue) -> list[Dialogue]:
    """What a template may want instead, the nearest first."""
    forms = [with_arguments_as_text(dialogue)] if dialogue.tools else []
    if dialogue.messages[0]["role"] == "system" and dialogue.mode != "chat":
        forms += [
            replace(one, mode=f"{one.mode}, no system message", messages=one.messages[1:])
            for one in (dialogue, *forms)
        ]
    return forms


def _rendered(template: LinedTemplate, dialogue: Dialogue) -> list[Turn]:
    """All turns of a dialogue. Raises RenderError."""
    turns = []
    last = len(dialogue.messages)
    for number, stop in enumerate(dialogue.turns()):
        now = _FIRST_DAY + timedelta(days=dialogue.days * number)
        variables, following = dialogue.variables_of(number), dialogue.variables_of(number + 1)

        def render(until: int, head: bool, more: Any = variables, now: datetime = now) -> Any:
            return template.render(
                dialogue.messages[:until], dialogue.tools, now, add_generation_prompt=head, **more
            )

        closed = render(stop + 1, False) if stop < last else None
        as_next = render(stop, True, following) if following != variables else None
        turns.append(Turn(render(stop, True), render(stop, False), closed, as_next))
    return turns


def _tokens_of(
    source: str, given: Mapping[str, str] | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """(special tokens, notes): those that a template by itself asks for get a name of their own."""
    if given is not None:
        return dict(given), ()
    names = [
        name for name in ("bos_token", "eos_token", "pad_token", "unk_token") if name in source
    ]
    if not names:
        return {}, ()
    tokens = {name: f"<{name}>" for name in names}
    told = "is a stand-in" if len(names) == 1 else "are stand-ins"
    note = f"no tokenizer_config.json beside it: {', '.join(names)} {told}"
    return tokens, (note,)


def template_report(path: str) -> tuple[TemplateReport, ...]:
    """A report for each template of a file (the template itself, or JSON with `chat_template`) or
    of a model's folder, whose tokenizer is used where it has one. Raises HitpathError."""
    try:
        return _report(path)
    except SettingError as error:
        if error.option != OPTION:
            raise
        raise SettingError(f"--template {path}", error.cause) from error


def _report(path: str) -> tuple[TemplateReport, ...]:
    place = Path(path)
    folder = place if place.is_dir() else place.parent
    config = hugging_face._read_json(folder / "tokenizer_config.json")
    special = {
        **hugging_face._special_tokens(hugging_face._read_json(folder / "special_tokens_map.json")),
        **hugging_face._special_tokens(config),
    }
    if place.is_dir():
        sources = hugging_face._template_sources(place, config)
        if not sources:
            raise SettingError(OPTION, f"no chat template in {path}")
    else:
        sources = _sources_of_file(place)
    encode = _encoder(place) if place.is_dir() and (place / "tokenizer.json").is_file() else None
    return tuple(
        check_template(source, special_tokens=special or None, encode=encode, path=path, name=name)
        for name, source in sources.items()
    )


def _sources_of_file(path: Path) -> dict[str, str]:
    text = _text_of(path)
    if path.suffix.lower() != ".json":
        return {"default": text}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), "", f"not JSON: {error}") from error
    if not isinstance(value, dict) or not value.get("chat_template"):
        raise InputError(str(path), "chat_template", "an object with a chat_template is needed")
    return hugging_face._named(path, value["chat_template"])


def _text_of(path: Path) -> str:
    try:
        if not path.is_file():
            cause = "neither a file nor a folder" if path.exists() else "no such file or folder"
            raise InputError(str(path), "", cause)
        if path.stat().st_size > _LONGEST_BYTES:
            cause = f"larger than {_LONGEST_BYTES >> 20} MiB: no chat template"
            raise InputError(str(path), "", cause)
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise InputError(str(path), "", f"cannot be read: {cause}") from error


def _encoder(folder: Path) -> Encode:
    tokenizer = hugging_face.load_path(folder, _FIRST_DAY)
    return lambda text: tokenizer.encode(text).tolist()
