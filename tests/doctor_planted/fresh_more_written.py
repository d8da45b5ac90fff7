"""A second lot of texts written in another way, of lists and tools, histories and contexts."""

import copy
import random
import unicodedata
from typing import Any

from doctor_planted.bases import Message
from doctor_planted.fresh_histories import _result, _safe, _tail
from doctor_planted.fresh_orders import _list, _pairs, _told
from doctor_planted.fresh_written import _in_forms
from doctor_planted.marks import mark
from doctor_planted.own_planters import history_cut, ordered, reasoning, tools_changed
from doctor_planted.plant_forms import at, between, written
from doctor_planted.real_planters import rewritten

_CUT = "truncated_history/compacted_history"
Tools = list[Any]


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


WHITE_SPACE: dict[str, Any] = {
    # Hash#inspect before and since Ruby 3.4.
    "ruby34": _in_forms("white_space", 'limits: {"rows"=>%d, "mode"=>"strict"}',
                        'limits: {"rows" => %d, "mode" => "strict"}'),
    "html_min": _in_forms("white_space", "<ul><li>%d rows</li><li>strict</li></ul>",
                          "<ul>\n  <li>%d rows</li>\n  <li>strict</li>\n</ul>"),
    "heading_gap": _in_forms("white_space", "## Limits\nAt most %d rows.",
                             "## Limits\n\nAt most %d rows."),
    "blank_lines_filled": _in_forms("white_space", "Limits:\n\nrows %d\n\nmode strict",
                                    "Limits:\n    \nrows %d\n    \nmode strict"),
    "yaml_list": _in_forms("white_space", "modes:\n- strict\n- slow\nrows: %d",
                           "modes:\n  - strict\n  - slow\nrows: %d"),
    "fr_colon": _in_forms("white_space", "Plafond : %d lignes", "Plafond: %d lignes"),
}  # fmt: skip
HIDDEN: dict[str, Any] = {
    "unit_no_break": written("hidden_characters/white_space", "At most 5*kg a parcel.", " ",
                             "\u00a0"),
    "he_marks": written("hidden_characters", "טלפון *03-555", "\u200e", ""),
    "url_soft": written("hidden_characters", "See https://desk.example/opening*hours", "",
                        "\u00ad"),
    "applied": at("hidden_characters", "inside", "", "\u2061"),
    "khmer_break": written("hidden_characters", "សូម*ចាំ", "\u200b", ""),
    "final_joiner": at("hidden_characters", "behind", "", "\u200d"),
    "tab_no_break": between("hidden_characters/white_space", " ", "\u00a0 "),
}  # fmt: skip
UNICODE: dict[str, Any] = {
    "bn_nukta": written("unicode_form", "বলুন: *.", "\u09dc", "\u09a1\u09bc"),
    "celsius": written("unicode_form", "Keep it at 5 *.", "\u2103", "°C"),
    "prime": written("unicode_form", "The board is 5* long.", "\u2032", "'"),
    "hex_entity": written("unicode_form", "The caf* is open.", "&#xE9;", "é"),
    "quoted_printable": written("unicode_form", "Caf*: Montag Ruhetag.", "=C3=A9", "é"),
    "armenian": written("unicode_form", "Գրիր *.", "\u0587", "\u0565\u0582"),
    "one_third": written("unicode_form", "Take * of it.", "\u2153", "1\u20443"),
    "pinyin": written("unicode_form", "Say * slowly.", "lǜ sè", _nfd("lǜ sè")),
    "number_sign": written("unicode_form", "Form * 7 is needed.", "\u2116", "No"),
}  # fmt: skip
NUMBERS: dict[str, Any] = {
    "pl_amount": written("number_format/white_space", "Limit: * zł", "1 234,50", "1234,50"),
    "rupees": written("number_format", "Deposit ₹*", "1,23,456.00", "123456.00"),
    "percent_zero": written("number_format", "A margin of * is usual.", "20%", "20.0%"),
    "minus_half": written("number_format", "bias=* gain=2", "-.5", "-0.5"),
    "dimensions": _in_forms("number_format", "Parcels up to %dx40x20 cm.",
                            "Parcels up to %d.0x40.0x20.0 cm."),
    "es_million": written("number_format", "Hasta * de filas.", "1.000.000", "1000000"),
    "knots": written("number_format", "wind limit: * kn", "2.50e1", "25"),
}  # fmt: skip
KEY_ORDER: dict[str, Any] = {
    "css": ordered("key_order/array_order", _pairs('<p style="', "; ", '">', "color: red",
                   "width: %dpx", "margin: 0", "float: left")),
    "lua": ordered("key_order/array_order", _pairs("limits = { ", ", ", " }", "rows = %d",
                   "mode = 'strict'", "days = 30", "beta = false")),
    "clojure": ordered("key_order/array_order", _pairs("{", ", ", "}", ":rows %d", ":mode :strict",
                       ":days 30", ":beta false")),
    "env_line": ordered("key_order/array_order", _pairs("env: ", " ", "", "ROWS=%d", "MODE=strict",
                        "LANG=de", "TZ=UTC")),
    "proto_text": ordered("key_order/moved_block/array_order", _pairs("limits {\n  ", "\n  ", "\n}",
                          "rows: %d", "mode: STRICT", "days: 30", "beta: false")),
}  # fmt: skip
ARRAY_ORDER: dict[str, Any] = {
    "hashset": _list(lambda m: "labels: HashSet {" + ", ".join(f'"{x}"' for x in m) + "}"),
    "mentions": _list(lambda m: "Channels: " + " ".join(f"<#{x}>" for x in m)),
    "union": _list(lambda m: "type Label = " + " | ".join(f'"{x}"' for x in m)),
    "arrows": _list(lambda m: "Labels → " + " → ".join(m)),
    "or_list_fr": _list(lambda m: f"Choisis {', '.join(m[:-1])} ou {m[-1]}."),
    "quoted_rows": _list(lambda m: "labels:\n" + "\n".join(f'  - "{x}"' for x in m),
                         "array_order/moved_block"),
}  # fmt: skip
TOOL_ORDER: dict[str, Any] = {
    "numbered_tools": _told("Tool %n: %t", "You can call:\n"),
    "csharp": _told("[KernelFunction] %n() // %t", "Plugin functions:\n"),
    "python_sig": _told("- %n(target: str) -> str: %t", "Callables:\n"),
    "inline": _told("%n (%t)", "Functions: ", ".", "; ", "tool_order/array_order"),
}


def _title(tools: Tools, at_: int, own: random.Random) -> Tools:
    """MCP's annotations."""
    changed = copy.deepcopy(tools)
    for tool in changed:
        tool["function"]["annotations"] = {"readOnlyHint": True}
    return changed


def _short(tools: Tools, at_: int, own: random.Random) -> Tools:
    """A budget for descriptions: the first sentence only."""
    changed = copy.deepcopy(tools)
    for tool in changed:
        function = tool["function"]
        function["description"] = function["description"].split(". ")[0] + "."
    return changed


def _formats(tools: Tools, at_: int, own: random.Random) -> Tools:
    changed = copy.deepcopy(tools)
    for schema in changed[at_]["function"]["parameters"]["properties"].values():
        schema["format"] = "x-any"
    return changed


def _one_gone(tools: Tools, at_: int, own: random.Random) -> Tools:
    return tools[1:]


TOOL_SET: dict[str, Any] = {
    "annotations": tools_changed("tool_set", _title), "short": tools_changed("tool_set", _short),
    "formats": tools_changed("tool_set", _formats),
    "one_gone": tools_changed("tool_set", _one_gone),
}  # fmt: skip
MOVED: dict[str, str] = {
    "cards": "┌ {p}\n│ {t}\n└", "note_of": "Note of {p}: {t}", "rst": "{p}\n~~~~~~~~\n{t}",
    "numbered_doc": "<passage name=\"{p}\">{t}</passage>", "slashes": "/* {p} */ {t}",
}  # fmt: skip
EDITED: dict[str, Any] = {
    "seen": _tail(" (seen)"), "tagged": _tail(" #followup"),
    "anonymised": lambda text: mark("edited_message", "[customer] ") + text,
    "priority": lambda text: mark("edited_message", "URGENT: ") + text,
}  # fmt: skip


def _even_only(messages: list[Message]) -> tuple[list[Message], object]:
    """Beyond ten messages the second to the fifth go, then four more at each overflow."""
    cut = (len(messages) - 7) // 4 * 4
    cut = _safe(messages, 1 + cut) if cut > 0 else 0
    if cut < 3 or len(messages) - cut < 4:
        return messages, 0
    return [messages[0], *messages[cut:]], cut


TRUNCATED: dict[str, Any] = {
    "in_fours": history_cut("truncated_history", _even_only),
    "es_omitted": rewritten(_CUT, _result("[resultado anterior omitido]"), 4),
    "first_lines": rewritten(_CUT, _result("{a}\n(+ {l} more lines)", 140), 4),
    "dropped_json": rewritten(_CUT, _result('{{"omitted": true, "bytes": {n}}}'), 5),
}  # fmt: skip
COMPACTED: dict[str, Any] = {
    "ro_summary": ("user", "Rezumatul conversației de până acum: {a} ({n} mesaje)"),
    "digest": ("system", "Digest of turns 1-{n}: {a}", "rolling"),
    "story": ("user", "Previously: {a}. [{n} messages summarised]"),
    "id_summary": ("assistant", "Ringkasan percakapan sebelumnya: {a} ({n} pesan)."),
}  # fmt: skip


def _inner(message: Message, thought: str) -> None:
    message["inner_thoughts"] = thought


def _redacted(message: Message, thought: str) -> None:
    """Opaque reasoning beside the content."""
    message["encrypted_reasoning"] = "gAAAAAB" + thought.encode().hex()[:40]


FLIPS: dict[str, Any] = {
    "brainstorm": "<brainstorm>{t}</brainstorm>\n{m}",
    "fr_tag": "<réflexion>\n{t}\n</réflexion>\n{m}",
    "dash_think": "<|begin_think|>{t}<|end_think|>{m}", "inner": reasoning(_inner),
    "encrypted": reasoning(_redacted),
}  # fmt: skip
CONTEXTS: dict[str, tuple[str, str, str]] = {
    "mini": ("model", "gemini-flash-lite", "gemini-flash"),
    "snap": ("model", "m:latest", "m:2026-02"),
    "salt_long": ("salt", "cust-00017", "cust-00018"), "lora_off": ("adapter", "tone-v2", ""),
}  # fmt: skip
