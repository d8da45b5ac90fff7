"""Planters that rewrite the history or what stands around the prompt."""

import base64
import random
from collections.abc import Callable

from doctor_planted import images, places, rates
from doctor_planted.base_tools import spare_tool
from doctor_planted.bases import Message, Step
from doctor_planted.carriers import GENERATION, LAST_USER
from doctor_planted.marks import mark
from doctor_planted.places import Site
from doctor_planted.plant_values import Plant

LONG = ("service", "code", "browser", "tau")

SUMMARIES: tuple[tuple[str, str], ...] = (
    ("user", "This session is being continued from a previous conversation that ran out of "
     "context. The conversation is summarised below:\n\n1. The user asked about {a}.\n2. {n} steps "
     "were taken and nothing is pending."),
    ("system", "Summary of the conversation so far: the customer's request concerning {a} was "
     "looked at; {n} messages were condensed."),
    ("user", "<summary>\nGoal: {a}\nDone: {n} steps\nOpen: nothing\n</summary>"),
    ("assistant", "[Context compacted] Key points: {a}. Earlier messages: {n}."),
    ("user", "Here is a condensed version of our earlier conversation ({n} messages): {a}. Please "
     "continue from here."),
    ("system", "## Conversation summary\n- topic: {a}\n- earlier messages: {n}"),
)  # fmt: skip


LEFT = 5
"""Messages that a truncation leaves: a turn adds at most three."""


def plant_truncated(site: Site) -> Plant:
    """Old messages dropped: from the front, from the middle with a note, or results cleared."""
    rng, more = site.rng, site.more
    form = rng.choice(more or ("front", "front", "keep_first", "middle", "cleared"))
    limit, step_size = rng.randrange(4, 7), rng.choice((2, 2, 4))
    note = rng.choice((
        "[Earlier messages were removed to fit the context window]",
        "... (older messages omitted) ...",
        "[history truncated]",
    ))  # fmt: skip

    def plant(step: Step) -> None:
        messages = step.messages
        over = len(messages) - limit
        cut = 0 if over <= 0 else -(-over // step_size) * step_size
        # Something of the prompt before stays, or nobody could tell this from a new dialogue.
        cut = max(0, min(cut, len(messages) - LEFT))
        while cut > 0 and messages[cut]["role"] == "tool":
            cut -= 1
        if form in ("keep_first", "middle") and cut == 1:
            cut = 0  # the first is kept: nothing would go, and a note alone drops nothing
        if form == "cleared":
            old = [m for m in messages[:cut] if m["role"] == "tool"]
            for message in old:
                message["content"] = "[Old tool result content cleared]"
            state: object = len(old)
        elif form == "stubs":
            state = _cut_short(messages[:cut])
        elif cut:
            kept = messages[:1] if form != "front" else []
            marker = [{"role": "user", "content": note}] if form == "middle" else []
            step.messages = kept + marker + messages[max(cut, len(kept)) :]
            state = cut
        else:
            state = 0
        in_place = form in ("cleared", "stubs")
        kinds = "truncated_history/compacted_history" if in_place else "truncated_history"
        step.owners.append((kinds, "messages", None, state))

    return plant


def _cut_short(messages: list[Message]) -> int:
    """Old results of tools keep their beginning; how many are cut."""
    count = 0
    for message in messages:
        if message["role"] == "tool" and len(message["content"]) > 60:
            left = len(message["content"]) - 40
            message["content"] = f"{message['content'][:40]}... [{left} characters left out]"
            count += 1
    return count


def plant_compacted(site: Site) -> Plant:
    """From some turn on, a summary stands for the older messages; a rolling one is written anew
    whenever the messages behind it are too many again."""
    rng, more = site.rng, site.more
    role, form, *how = rng.choice(more or SUMMARIES)
    # One client keeps nothing but its well-known summary; elsewhere some of the last prompt stays.
    keep = rng.randrange(1, 4) if form.startswith("This session") else rng.randrange(4, 6)
    at_length = keep + rng.randrange(3, 5)  # a summary of one message would be that one, edited

    def plant(step: Step) -> None:
        length = len(step.messages)
        if length < at_length:
            step.owners.append(("compacted_history", "messages", None, 0))
            return
        cut = at_length - keep
        if how:
            cut += (length - at_length) // 4 * 4
        while step.messages[cut]["role"] == "tool":
            cut -= 1  # a call and its result stay together
        told = step.messages[:cut] if how else step.messages[:1]
        topic = "; ".join(_topic(message) for message in told if message["content"])
        summary = {"role": role, "content": form.format(a=topic, n=cut)}
        step.messages = [summary, *step.messages[cut:]]
        step.owners.append(("compacted_history", "messages", None, cut))

    return plant


def _topic(message: Message) -> str:
    content = message["content"]
    if isinstance(content, list):
        content = " ".join(block.get("text", "") for block in content)
    return " ".join(content.split()[-4:])


EDITS: tuple[Callable[[str], str], ...] = (
    lambda text: _word(text, lambda w: w[:-1] + ("n" if w[-1] != "n" else "m")),
    lambda text: _word(text, lambda w: f"{w}, as I said before,"),
    lambda text: _word(text, lambda w: "********"),
    lambda text: _word(text, lambda w: w[::-1]),
)


def _word(text: str, change: Callable[[str], str]) -> str:
    """One long word in the middle of a text changed. A text without words (figures, ids) stays:
    another id in its place would be another id, not an edit."""
    words = text.split(" ")
    at = max(range(len(words)), key=lambda i: (words[i].isalpha(), min(len(words[i]), 9), -i))
    if not words[at].isalpha():
        return text
    changed = change(words[at])
    return " ".join([*words[:at], mark("edited_message", changed), *words[at + 1 :]])


def plant_edited(site: Site) -> Plant:
    """From some turn on an earlier message reads otherwise; or the system prompt, once."""
    rng, app, num, more = site.rng, site.app, site.num, site.more
    edit = rng.choice(more or EDITS)
    if app.shape not in LONG or rng.random() < 0.25:
        usable = [name for name in site.where if name in ("system_mid", "system_tail")]
        spot = places.make_spot(rng, app, usable or ("system_mid",))
        rate = rates.make_rate(rng, ("boundary",), num)
        from_length = None
    else:
        spot = places.Spot("history", rng.randrange(0, 3))
        from_length = rng.randrange(4, 7)

    def plant(step: Step) -> None:
        long = from_length is not None and len(step.messages) >= from_length
        edited = long if from_length else bool(rate.epoch(step))
        spot.edit(step, edit if edited else _same)

    return plant


def _same(text: str) -> str:
    return text


def plant_moved(site: Site) -> Plant:
    """Blocks that are all there, in another order: files, memories, documents."""
    rng, app, num, where, more = site.rng, site.app, site.num, site.where, site.more
    form = rng.choice(more or (
        '<file path="{p}">\n{t}\n</file>', "## {p}\n{t}", "[{p}] {t}",
        "<memory id={p!r}>{t}</memory>",
    ))  # fmt: skip
    names = ["README.md", "docs/rules.md", "src/main.py", "notes.txt", "Makefile", "CHANGES"]
    texts = [" ".join(rng.sample(_SENTENCES, rng.randrange(2, 5))) for _ in names]
    count = rng.randrange(3, 7)
    blocks = [form.format(p=p, t=t) for p, t in zip(names, texts, strict=True)][:count]
    rate = rates.make_rate(rng, ("every", "nth", "sometimes", "boundary"), num)
    seed = rng.getrandbits(32)
    usable: tuple[str, ...] = ("system_mid", "system_tail", "system_head")
    if app.shape in LONG and "first_user" in where:
        usable = (*usable, "first_user")
    spot = places.make_spot(rng, app, usable)

    def plant(step: Step) -> None:
        epoch = rate.epoch(step)
        order = list(blocks)
        if epoch > 0:
            random.Random(f"{seed}:{epoch}").shuffle(order)
        spot.insert(step, mark("moved_block", "\n\n".join(order)))

    return plant


_SENTENCES = (
    "The build needs two steps.", "Lines end with a newline.", "Names are written in full.",
    "The desk answers within a day.", "Old forms stay valid until the summer.",
    "Every change is reviewed by somebody else.", "The archive is read only.",
    "Figures are rounded to whole euros.", "A second signature is needed above the limit.",
    "Backups run at night.", "The entrance is at the rear.", "Tests run without a network.",
)  # fmt: skip


def plant_template_flip(site: Site) -> Plant:
    """Reasoning stands in the replies since the last user message and is stripped before it."""
    rng, app, more = site.rng, site.app, site.more
    seed = rng.getrandbits(32)
    if app.shape == "chat":
        flip = rng.choice(tuple({**LAST_USER, **GENERATION}))
        return lambda step: setattr(step, "flip", flip)
    form = rng.choice(more or ("think", "think", "empty", "field", "<thinking>{t}</thinking>\n{m}"))

    def plant(step: Step) -> None:
        last_user = max((i for i, m in enumerate(step.messages) if m["role"] == "user"), default=0)
        for i, message in enumerate(step.messages):
            if message["role"] != "assistant":
                continue
            shown = i > last_user
            own = random.Random(f"{seed}:{step.session}:{i}")
            thought = " ".join(own.sample(_THOUGHTS, 3))
            _think(message, form, thought, shown)
            step.owners.append(("template_flip", "messages", i, shown))

    return plant


def _think(message: Message, form: str, thought: str, shown: bool) -> None:
    if not shown:
        return
    text = message["content"] or ""
    if form == "field":
        message["reasoning_content"] = thought
    elif form == "empty":
        message["content"] = f"<think>\n\n</think>\n\n{text}"
    elif form == "think":
        message["content"] = f"<think>\n{thought}\n</think>\n\n{text}"
    else:
        message["content"] = form.format(t=thought, m=text)


_THOUGHTS = (
    "The user wants the status first.", "I should read the record.", "Two rules may apply here.",
    "Nothing was promised yet.", "The cheapest way is a voucher.", "Let me check the date.",
    "This looks like the case from the policy.", "I need one more figure.",
)  # fmt: skip


def plant_tool_set(site: Site) -> Plant:
    """Tools that come or go: a server connected, a filter by relevance, one switched off."""
    rng, app, num = site.rng, site.app, site.num
    form = rng.choice(("appended", "inserted", "removed", "filtered"))
    rate = rates.make_rate(rng, ("nth", "sometimes", "boundary"), num)
    seed, spare = rng.getrandbits(32), [spare_tool(rng, i) for i in range(3)]
    at = rng.randrange(len(app.tools))

    def plant(step: Step) -> None:
        epoch = rate.epoch(step)
        own = random.Random(f"{seed}:{epoch}")
        if epoch > 0:
            if form == "appended":
                step.tools = step.tools + spare[: own.randrange(1, 3)]
            elif form == "inserted":
                step.tools = [*step.tools[:at], spare[0], *step.tools[at:]]
            elif form == "removed":
                step.tools = [tool for i, tool in enumerate(step.tools) if i != at]
            else:
                count = max(2, len(step.tools) - own.randrange(1, 3))
                kept = sorted(own.sample(range(len(step.tools)), count))
                step.tools = [step.tools[i] for i in kept]
        names = tuple(tool["function"]["name"] for tool in step.tools)
        step.owners.append(("tool_set", "tools", None, names))

    return plant


CONTEXTS = (
    ("model", "gpt-4o", "gpt-4o-mini"), ("model", "qwen3-32b", "qwen3-32b-awq"),
    ("salt", "tenant-a", "tenant-b"), ("salt", "", "rotated-2026-03"),
    ("adapter", "", "support-lora"), ("adapter", "lora-v1", "lora-v2"),
    ("kv_dtype", "auto", "fp8_e5m2"), ("tokenizer", "v3", "v4"),
)  # fmt: skip
"""(field, before, after); "" for absent."""


def plant_context(site: Site) -> Plant:
    """From some turn or request on another model, salt, adapter, KV dtype or tokenizer."""
    rng, num, more = site.rng, site.num, site.more
    field, before, after = rng.choice(more or CONTEXTS)
    by_turn, at = rng.random() < 0.6, rng.randrange(2, 4)
    rate = rates.make_rate(rng, ("boundary",), num)

    def plant(step: Step) -> None:
        changed = step.turn >= at if by_turn else bool(rate.epoch(step))
        step.context[field] = after if changed else before

    return plant


def plant_image(site: Site) -> Plant:
    """Pictures of the history encoded anew: level, filter, a comment, the line width."""
    rng, num, more = site.rng, site.num, site.more
    rate = rates.make_rate(rng, ("every", "nth", "sometimes", "boundary"), num)
    form = rng.choice(more or ("level", "filter", "comment"))

    def plant(step: Step) -> None:
        epoch = rate.epoch(step)
        for i, message in enumerate(step.messages):
            if not isinstance(message["content"], list):
                continue
            for block in message["content"]:
                if block["type"] == "image_url":
                    url = block["image_url"]["url"]
                    block["image_url"]["url"] = re_encoded(url, form, max(0, epoch))
                    step.owners.append(("image_encoding", "messages", i, max(0, epoch)))

    return plant


def re_encoded(url: str, form: str, epoch: int) -> str:
    rows = images.pixels(base64.b64decode(url.split(",", 1)[1]))
    if epoch == 0:
        return url
    if form == "lines":
        text = images.base64_of(images.png(rows))
        width = 20 + 4 * (epoch % 9)
        wrapped = "\n".join(text[i : i + width] for i in range(0, len(text), width))
        return f"data:image/png;base64,{wrapped}"
    if form == "both":
        data = images.png(rows, level=epoch % 9 + 1, row_filter=1, comment=f"v{epoch}")
    elif form == "level":
        data = images.png(rows, level=(1, 9, 3, 0)[epoch % 4], comment="")
    elif form == "filter":
        data = images.png(rows, level=epoch % 9 + 1, row_filter=epoch % 2)
    else:
        data = images.png(rows, comment=f"export {epoch}")
    return f"data:image/png;base64,{images.base64_of(data)}"
