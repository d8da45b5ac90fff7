"""What clients do to a history between two turns, after public threads that no other set shows."""

from random import Random

from doctor_planted.threads_forms import (
    OAI,
    Plant,
    coin,
    flat,
    form,
    groups,
    results,
    seed_of,
    stale,
    texts,
    topic,
)
from doctor_planted.threads_sessions import App, Message, Step

_SUMS = (
    "Samenvatting van het gesprek tot nu toe: {t}",
    "Sammanfattning av samtalet hittills: {t}",
    "Podsumowanie dotychczasowej rozmowy: {t}",
    "Shrnutí dosavadní konverzace: {t}",
    "सारांश (पिछली बातचीत): {t}",
    "สรุปบทสนทนาก่อนหน้า: {t}",
)


@form(
    "trimmed_outside_window",
    "white_space",
    shapes=("code",),
    source="NousResearch/hermes-agent#68085: messages in the marked window keep their line ends",
)
def trimmed_outside_window(app: App, rng: Random) -> Plant:
    tail = rng.choice(("\n", "\n\n", "  \n"))

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and isinstance(m["content"], str) and i >= len(s.messages) - 3:
                m["content"] += tail

    return plant


@form(
    "blank_channel",
    "template_flip/white_space",
    styles=("openai", "rows"),
    source="antirez/ds4#856: an empty reasoning channel comes back as one blank",
)
def blank_channel(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "assistant":
                m["reasoning_content"] = " " if stale(s, i) else ""

    return plant


@form(
    "extras_in_any_order",
    "key_order",
    styles=("openai", "rows"),
    source="openai/openai-go#901: extra fields of a message written from a map",
)
def extras_in_any_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "assistant":
                extras = {
                    "reasoning_content": m["_thought"],
                    "reasoning_details": [{"type": "reasoning.text", "text": m["_thought"]}],
                }
                names = list(extras)
                if coin(seed, s.number, i, p=0.5):
                    names.reverse()
                m.update({name: extras[name] for name in names})

    return plant


@form(
    "quoted_mail",
    "truncated_history/compacted_history",
    shapes=("service", "chat"),
    source="mail assistants: the quoted part of an older mail is folded",
)
def quoted_mail(app: App, rng: Random) -> Plant:
    note = rng.choice(("[quoted text hidden]", "[… quoted message trimmed]"))
    quoted = "\n".join(
        f"> {line}"
        for line in (
            "Dear all,",
            "the crates of lot 7 stand in the yard.",
            "Who fetches them?",
            "G.",
        )
    )

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            text = texts(m)
            if m["role"] == "user" and text is not None:
                m["content"] = f"{text}\n\n{note if stale(s, i) else quoted}"

    return plant


@form(
    "no_tools_after_summary",
    "compacted_history/truncated_history",
    source="vercel/eve#175: a summary and the newest messages that are no results",
)
def no_tools_after_summary(app: App, rng: Random) -> Plant:
    at = rng.choice((8, 10))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            cut = at - 4
            kept: list[Message] = []
            for m in flat(gs[cut : at - 1]):
                if m["role"] == "tool" or (m.get("tool_calls") and not m.get("content")):
                    continue
                kept.append({k: v for k, v in m.items() if k != "tool_calls"})
            text = f"[Compaction] What happened before this point: {topic(gs[:cut])}."
            s.messages = [{"role": "user", "content": text}, *kept, *flat(gs[at - 1 :])]

    return plant


@form(
    "compressed_range",
    "compacted_history/truncated_history",
    source="opencode-acp: a range gives way to '[Compressed section ..]'",
)
def compressed_range(app: App, rng: Random) -> Plant:
    at = rng.choice((8, 9))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            text = f"[Compressed section b1] {topic(gs[1 : at - 3])}"
            note = {"role": "user", "content": text}
            s.messages = [*gs[0], note, *flat(gs[at - 3 :])]

    return plant


@form(
    "sums_of_the_north",
    "compacted_history/truncated_history",
    shapes=("chat", "service", "code"),
    source="chat clients in Dutch, Swedish, Polish, Czech, Hindi, Thai",
)
def sums_of_the_north(app: App, rng: Random) -> Plant:
    form_, at = rng.choice(_SUMS), rng.choice((7, 8))
    role = rng.choice(("user", "assistant"))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            told = {"role": role, "content": form_.format(t=topic(gs[: at - 4])), "_thought": ""}
            s.messages = [told, *flat(gs[at - 4 :])]

    return plant


@form(
    "heard_again",
    "edited_message",
    shapes=("chat", "service"),
    source="voice agents: a final transcript replaces the interim one",
)
def heard_again(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        m = s.messages[s.last_user]
        text = texts(m)
        if text is not None:
            words = text.split(" ")
            at = max(range(len(words)), key=lambda i: len(words[i]) if words[i].isalpha() else 0)
            words[at] = words[at][1:] + "er"
            m["content"] = " ".join(words)

    return plant


@form(
    "stale_pages",
    "truncated_history/compacted_history",
    shapes=("browser",),
    source="lobehub/lobehub#19777: snapshots past a window",
)
def stale_pages(app: App, rng: Random) -> Plant:
    keep = rng.choice((2, 3))

    def plant(s: Step) -> None:
        for m in results(s.messages)[:-keep]:
            m["content"] = "⟨snapshot dropped, take a new snapshot⟩"

    return plant


@form(
    "decayed_results",
    "truncated_history/compacted_history",
    shapes=("code", "service"),
    source="context-labs/whip#55: older results collapse to name, size and path",
)
def decayed_results(app: App, rng: Random) -> Plant:
    keep = rng.choice((1, 2))

    def plant(s: Step) -> None:
        for i, m in enumerate(results(s.messages)[:-keep]):
            n = len(str(m["content"]))
            m["content"] = f'⟨bash "job {i}" output, {n} bytes — full output: /tmp/out/{i}.log⟩'

    return plant


@form(
    "escaped_again",
    "unicode_form",
    shapes=("service",),
    styles=(*OAI, "responses"),
    source="json_encode of PHP: slashes and letters of stored results",
)
def escaped_again(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and isinstance(m["content"], str):
                link = "https://desk.example/größe/7"
                told = link.replace("/", "\\/").replace("ö", "\\u00f6").replace("ß", "\\u00df")
                shown = told if stale(s, i) else link
                m["content"] = m["content"][:-1] + f', "link": "{shown}"}}'

    return plant
