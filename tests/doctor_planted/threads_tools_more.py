"""Tools, instructions and contexts that change between two turns."""

from random import Random

from doctor_planted.threads_forms import Plant, coin, form, seed_of
from doctor_planted.threads_sessions import App, Step
from doctor_planted.threads_words import NOUNS, RULES, SAYS, W


@form(
    "system_newline",
    "white_space",
    scope="system",
    source="trailing newline of the instructions on one path only",
)
def system_newline(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.3, 0.5))
    tail = rng.choice(("\n", " ", "\n\n"))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            s.system[-1] += tail

    return plant


@form(
    "steps_left",
    "counter",
    scope="system",
    source="step budget in the instructions (OpenHands, smolagents)",
)
def steps_left(app: App, rng: Random) -> Plant:
    t = rng.choice(
        (
            "You have {n} steps left.",
            "Step {m} of 60.",
            "<budget:token_budget>{k}</budget:token_budget>",
        )
    )

    def plant(s: Step) -> None:
        s.system.insert(1, t.format(n=60 - s.turn, m=s.turn, k=200000 - 731 * s.turn))

    return plant


@form(
    "developer_role",
    "edited_message/template_flip/context_changed",
    scope="system",
    styles=("openai",),
    source="system gives way to developer with another model class",
)
def developer_role(app: App, rng: Random) -> Plant:
    at = rng.choice((2, 3))

    def plant(s: Step) -> None:
        if s.turn >= at:
            s.extra["role"] = "developer"

    return plant


@form(
    "git_status",
    "edited_message/random_sample/array_order/counter/moved_block",
    shapes=("code",),
    scope="system",
    source="git status in the instructions, read anew",
)
def git_status(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        files = [f" M src/{n}.py" for n in NOUNS[: 1 + s.turn // 2]]
        s.system[-1] += "\n\nGit status:\n" + "\n".join(files)

    return plant


@form(
    "alternating_models",
    "context_changed",
    scope="context",
    source="a router that picks a model for each request",
)
def alternating_models(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        s.context["model"] = "glm-4.6-air" if coin(seed, s.number, p=0.3) else "glm-4.6"

    return plant


@form(
    "flat_tool_order",
    "tool_order",
    styles=("flat_qwen3", "flat_glm"),
    scope="flat",
    source="codex#2611 behind a template",
)
def flat_tool_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=0.4):
            Random(f"{seed}{s.number}").shuffle(s.tools)

    return plant


@form(
    "letta_metadata",
    "counter",
    scope="system",
    source="letta <memory_metadata> in the instructions",
)
def letta_metadata(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.system[-1] += (
            f"\n\n<memory_metadata>\n- {4 + 2 * s.turn} previous messages between you and "
            f"the user are stored in recall memory (use tools to access them)\n</memory_metadata>"
        )

    return plant


@form(
    "core_memory",
    "edited_message/random_sample",
    scope="system",
    source="letta core memory block that the agent rewrites",
)
def core_memory(app: App, rng: Random) -> Plant:
    w = W(Random(seed_of(rng)))
    facts = [w.pick(SAYS) for _ in range(4)]
    at = rng.choice((2, 3))

    def plant(s: Step) -> None:
        fs = facts[:2] + (facts[2:3] if s.turn >= at else [])
        s.system[1] += "\n<human>\n" + "\n".join(fs) + "\n</human>"

    return plant


@form("prefixed_names", "tool_set", scope="tools", source="mcp__server__ prefix of a later version")
def prefixed_names(app: App, rng: Random) -> Plant:
    at = rng.choice((3, 4))

    def plant(s: Step) -> None:
        if s.turn >= at:
            for t in s.tools[1:]:
                t["function"]["name"] = "mcp__depot__" + t["function"]["name"]

    return plant


@form(
    "session_url",
    "request_id",
    scope="tools",
    source="anthropics/claude-code#87137: console URL of the session in a description",
)
def session_url(app: App, rng: Random) -> Plant:
    at = rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        r = Random(s.session.name)
        u = "".join(
            r.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz") for _ in range(24)
        )
        s.tools[at]["function"]["description"] += (
            f" Open https://console.example/code/session_01{u} to watch it."
        )

    return plant


@form(
    "dedent",
    "white_space",
    scope="tools",
    source="docstring of a tool with or without its indent (inspect.getdoc)",
)
def dedent(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    at = rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        d = s.tools[at]["function"]
        d["description"] = (
            d["description"].replace(". ", ".\n", 2)
            if not coin(seed, s.number, p=0.3)
            else d["description"].replace(". ", ".\n    ", 2)
        )

    return plant


@form(
    "limit_sentence",
    "tool_set/per_user_field",
    scope="tools",
    source="a limit in a description that follows the plan",
)
def limit_sentence(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    at = rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        s.tools[at]["function"]["description"] += (
            f" At most {'forty' if coin(seed, s.session.name, p=0.5) else 'ten'} results are told."
        )

    return plant


@form(
    "sorted_then_not",
    "tool_order",
    scope="tools",
    source="built-in tools first, or sorted among the others (maximhq/bifrost)",
)
def sorted_then_not(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.15, 0.4))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            s.tools.sort(key=lambda t: t["function"]["name"])

    return plant


@form(
    "memory_relevance",
    "moved_block/array_order",
    scope="system",
    source="memories ordered by relevance (mem0, lossless-claw#463)",
)
def memory_relevance(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    w = W(Random(seed))
    mem = [w.pick(SAYS) for _ in range(5)]

    def plant(s: Step) -> None:
        o = list(mem)
        Random(f"{seed}{s.session.name}{s.last_user}").shuffle(o)
        s.system[-1] += "\n\nMemories:\n" + "\n".join("- " + x for x in o)

    return plant


@form(
    "client_line",
    "attribution",
    scope="system",
    source="User-Agent or client line ahead of the instructions",
)
def client_line(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    own = rng.choice(("User-Agent: opencode/{v} (linux; x64)", "x-app: cli; client=kilo/{v}"))

    def plant(s: Step) -> None:
        v = "1.4.2" if coin(seed, s.session.name, p=0.5) else "1.4.3"
        s.system[0] = own.format(v=v) + "\n" + s.system[0]

    return plant


@form(
    "adapter_reload",
    "context_changed",
    scope="context",
    styles=("rows",),
    source="adapter reloaded under another version (vllm#42125)",
)
def adapter_reload(app: App, rng: Random) -> Plant:
    at = rng.choice((2, 4))

    def plant(s: Step) -> None:
        s.context["adapter"] = "support-v2" if s.turn >= at else "support-v1"

    return plant


@form(
    "tools_and_order",
    "tool_set/tool_order",
    scope="tools",
    source="mixture: servers come and the map is unordered",
)
def tools_and_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        if s.turn >= 3:
            s.tools = s.tools + app.more_tools[:2]
        if coin(seed, s.number, p=0.3):
            Random(f"{seed}{s.number}").shuffle(s.tools)

    return plant


@form(
    "other_language",
    "edited_message",
    scope="system",
    source="instructions in the language of the interface, which the user changed",
)
def other_language(app: App, rng: Random) -> Plant:
    at = rng.choice((3, 4))
    para = rng.randrange(1, len(app.system) - 1)

    def plant(s: Step) -> None:
        if s.turn >= at:
            s.system[para] = (
                "Nenne zuerst den Gegenstand, dann die Antwort; bleib unter sechs Sätzen "
                "und versprich nichts."
            )

    return plant


@form(
    "short_descriptions",
    "tool_set",
    scope="tools",
    source="descriptions cut at a limit by one gateway of two (1,024 characters)",
)
def short_descriptions(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    n = rng.choice((60, 90))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=0.3):
            for t in s.tools:
                t["function"]["description"] = t["function"]["description"][:n]

    return plant


@form(
    "memory_file",
    "edited_message/moved_block/random_sample",
    scope="system",
    source="CLAUDE.md / GEMINI.md memory in the instructions gains a line ('# to memorise')",
)
def memory_file(app: App, rng: Random) -> Plant:
    at = rng.choice((2, 3))
    w = W(Random(seed_of(rng)))
    ls = [w.pick(RULES) for _ in range(4)]

    def plant(s: Step) -> None:
        s.system[-1] += "\n\n# Memory\n" + "\n".join(
            "- " + x for x in (ls if s.turn >= at else ls[:3])
        )

    return plant
