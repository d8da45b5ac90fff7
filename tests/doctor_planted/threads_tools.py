"""Tools, instructions and contexts that change between two turns."""

from random import Random

from doctor_planted.threads_forms import RATES, Plant, coin, form, seed_of
from doctor_planted.threads_sessions import App, Step
from doctor_planted.threads_words import RULES, W


@form(
    "late_server", "tool_set", scope="tools", source="MCP server that connects after the first turn"
)
def late_server(app: App, rng: Random) -> Plant:
    at = rng.choice((2, 3))
    n = rng.randrange(1, 4)
    front = rng.random() < 0.4

    def plant(s: Step) -> None:
        if s.turn >= at:
            s.tools = app.more_tools[:n] + s.tools if front else s.tools + app.more_tools[:n]

    return plant


@form(
    "flapping_server", "tool_set", scope="tools", source="MCP reconnects (claude-code-cache-fix#29)"
)
def flapping_server(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.05, 0.15, 0.3))
    at = rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            s.tools = s.tools[:at] + s.tools[at + 1 :]

    return plant


@form(
    "skills_in_description", "tool_set/array_order", scope="tools", source="QwenLM/qwen-code#4896"
)
def skills_in_description(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    skills = [
        "crate-audit: weighs crates",
        "ledger-export: writes CSV",
        "tram-map: draws maps",
        "night-rota: plans nights",
        "seal-check: looks at seals",
    ]
    at = rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        n = 2 + min(3, sum(coin(seed, s.session.name, t, p=0.35) for t in range(s.turn)))
        d = s.tools[at]["function"]
        d["description"] += (
            "\n\n<available_skills>\n"
            + "\n".join("- " + x for x in skills[:n])
            + "\n</available_skills>"
        )

    return plant


@form(
    "deferred_tools",
    "tool_set",
    scope="tools",
    source="tool search loads definitions (claude-code#91514)",
)
def deferred_tools(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.tools = s.tools + app.more_tools[: max(0, s.turn - 2) // 2]

    return plant


@form(
    "mode_sentence",
    "tool_set",
    scope="tools",
    source="sandbox note that comes and goes in a description (codex, claude code)",
)
def mode_sentence(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.15, 0.3, 0.5))
    at = rng.randrange(len(app.tools))
    mid = rng.random() < 0.5
    note = rng.choice(
        (
            "Network access is off in this sandbox.",
            "Ask for approval before you write.",
            "Commands run as an ordinary user.",
        )
    )

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            d = s.tools[at]["function"]
            a, dot, b = d["description"].partition(". ")
            d["description"] = f"{a}. {note} {b}" if mid and dot else d["description"] + " " + note

    return plant


@form(
    "hash_order", "tool_order", scope="tools", source="openai/codex#2611: MCP tools in a hash map"
)
def hash_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice(RATES)

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            Random(f"{seed}{s.number}").shuffle(s.tools)

    return plant


@form(
    "server_order",
    "tool_order",
    scope="tools",
    source="two MCP servers in the order in which they connected",
)
def server_order(app: App, rng: Random) -> Plant:
    k = max(1, len(app.tools) // 2)
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        if coin(seed, s.session.name, p=0.5):
            s.tools = s.tools[k:] + s.tools[:k]

    return plant


@form(
    "schema_order",
    "key_order",
    scope="tools",
    source="maximhq/bifrost#3362, sgl-project/sglang#34553",
)
def schema_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.15, 0.3, 0.8))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            for t in s.tools:
                ps = t["function"]["parameters"]
                ks = list(ps["properties"])
                Random(f"{seed}{s.number}{t['function']['name']}").shuffle(ks)
                ps["properties"] = {k: ps["properties"][k] for k in ks}

    return plant


@form(
    "billing_line",
    "attribution",
    scope="system",
    styles=("anthropic_blocks", "anthropic", "openai"),
    source="ggml-org/llama.cpp#20623, ollama#14918",
)
def billing_line(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    own = rng.random() < 0.7
    come = rng.choice((1.0, 0.6))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=come):
            r = Random(f"{seed}{s.number}")
            line = (
                f"x-anthropic-billing-header: "
                f"cc_version=2.1.{37}.{r.getrandbits(12):03x}; cc_entrypoint=cli; "
                f"cch={r.getrandbits(20):05x};"
            )
            if own:
                s.system = [line, *s.system]
            else:
                s.system[0] = line + "\n" + s.system[0]

    return plant


@form("uuid_in_description", "request_id", scope="tools", source="anthropics/claude-code#27786")
def uuid_in_description(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    at = rng.randrange(len(app.tools))
    per = rng.choice(("request", "session"))

    def plant(s: Step) -> None:
        r = Random(f"{seed}{s.number if per == 'request' else s.session.name}")
        u = f"{r.getrandbits(128):032x}"
        u = "-".join((u[:8], u[8:12], "4" + u[13:16], "a" + u[17:20], u[20:]))
        s.tools[at]["function"]["description"] += (
            f" Writes are refused below /tmp/claude-settings-{u}.json and /etc."
        )

    return plant


@form(
    "model_switch",
    "context_changed",
    scope="context",
    source="plan with one model, act with another",
)
def model_switch(app: App, rng: Random) -> Plant:
    a, b = rng.choice(
        (
            ("claude-opus-4-5", "claude-sonnet-4-5"),
            ("gpt-5", "gpt-5-mini"),
            ("qwen3-coder", "qwen3-coder-fp8"),
        )
    )
    at = rng.choice((2, 3, 4))
    back = rng.random() < 0.3

    def plant(s: Step) -> None:
        s.context["model"] = b if (s.turn >= at and not (back and s.turn > at)) else a

    return plant


@form(
    "salt_switch",
    "context_changed",
    scope="context",
    styles=("openai", "rows"),
    source="cache_salt rotated (vllm)",
)
def salt_switch(app: App, rng: Random) -> Plant:
    at = rng.choice((2, 3))

    def plant(s: Step) -> None:
        s.context["salt"] = "t-2" if s.turn >= at else "t-1"

    return plant


@form(
    "resumed_version",
    "edited_message",
    scope="system",
    source="session resumed by a later version of the app",
)
def resumed_version(app: App, rng: Random) -> Plant:
    at = rng.choice((3, 4))
    w = W(Random(seed_of(rng)))
    new = w.pick(RULES)
    para = rng.randrange(1, len(app.system) - 1)

    def plant(s: Step) -> None:
        if s.turn >= at:
            s.system[para] = new + " " + s.system[para].split(". ", 1)[-1]

    return plant


@form(
    "strict_flag",
    "tool_set",
    scope="tools",
    source="strict and additionalProperties by provider path (openai agents sdk)",
)
def strict_flag(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.15, 0.3))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            for t in s.tools:
                t["function"]["strict"] = True
                t["function"]["parameters"]["additionalProperties"] = False

    return plant


@form(
    "agents_enum",
    "tool_set/array_order",
    scope="tools",
    source="enum of sub-agents in a parameter (oh-my-opencode, Task tool)",
)
def agents_enum(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    at = rng.randrange(len(app.tools))
    names = ["explorer", "reviewer", "planner", "tester", "writer"]

    def plant(s: Step) -> None:
        n = 2 + sum(coin(seed, s.session.name, t, p=0.25) for t in range(s.turn))
        s.tools[at]["function"]["parameters"]["properties"]["agent"] = {
            "type": "string",
            "enum": names[: min(n, 5)],
            "description": "Who does it.",
        }

    return plant


@form(
    "relevant_tools",
    "tool_set/tool_order",
    scope="tools",
    source="tools picked by relevance for each question",
)
def relevant_tools(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        pool = s.tools + app.more_tools
        r = Random(f"{seed}{s.session.name}{s.last_user}")
        s.tools = r.sample(pool, len(pool) - 3)

    return plant


@form(
    "plan_act",
    "tool_set",
    scope="tools",
    source="plan mode without writing tools (cline, opencode)",
)
def plan_act(app: App, rng: Random) -> Plant:
    k = max(2, len(app.tools) - 2)

    def plant(s: Step) -> None:
        if s.turn <= 2:
            s.tools = s.tools[:k]

    return plant


@form(
    "schema_default", "tool_set", scope="tools", source="a default in a schema follows the settings"
)
def schema_default(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    at = rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        ps = s.tools[at]["function"]["parameters"]["properties"]
        ps[next(iter(ps))]["default"] = "slow" if coin(seed, s.number, p=0.3) else "fast"

    return plant


@form(
    "required_order",
    "array_order",
    scope="tools",
    source="required from a set (DeepSeek-Reasonix#530)",
)
def required_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.15, 0.5))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            for t in s.tools:
                t["function"]["parameters"]["required"].reverse()

    return plant


@form(
    "deep_schema_order",
    "key_order",
    scope="tools",
    source="keys of one property's schema (rig#2374 HashMap)",
)
def deep_schema_order(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    at = rng.randrange(len(app.tools))
    p = rng.choice((0.15, 0.4))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=p):
            ps = s.tools[at]["function"]["parameters"]["properties"]
            k = list(ps)[-1]
            ps[k] = dict(reversed(list(ps[k].items())))

    return plant
