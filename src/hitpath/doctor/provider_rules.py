"""What a provider's cache demands, by the name of a model; sources are those of `sim.models`."""

import re
from dataclasses import dataclass
from typing import Literal

from hitpath.sim.models.provider_breakpoints import ANTHROPIC_MINIMUMS, BreakpointRule
from hitpath.sim.models.provider_prefixes import (
    DEEPSEEK_V3,
    GEMINI_2_5,
    GEMINI_3,
    OPENAI,
    PrefixRule,
)
from hitpath.sim.models.providers import HOUR_S, MINUTE_S

ProviderName = Literal["anthropic", "openai", "gemini", "deepseek"]
DEFAULT_MINIMUM = 1024


@dataclass(frozen=True, slots=True)
class ProviderRule:
    """least: the shortest prefix that is cached; step: in which a hit is counted; lifetime_s after
    the last use; lookback: blocks before a breakpoint that are looked at, None without
    breakpoints."""

    name: ProviderName
    least: int
    step: int
    lifetime_s: float
    lookback: int | None


def rule_of(model: str | None) -> ProviderRule | None:
    """The rule of a model's provider, None where the name tells none: of open weights, which
    anybody hosts by rules of their own (`openai/gpt-oss-120b`, a distillation), and of a name that
    is of another host."""
    *hosts, name = (model or "").casefold().split("/")
    if _OPEN_WEIGHTS.search(name) or (len(hosts) == 1 and not _HOST.fullmatch(hosts[0])):
        return None
    if "claude" in name:
        least = next(
            (tokens for part, tokens in ANTHROPIC_MINIMUMS.items() if _is_model(part, name)),
            DEFAULT_MINIMUM,
        )
        return ProviderRule("anthropic", least, 1, 5 * MINUTE_S, BreakpointRule(least).lookback)
    if "gemini" in name:
        return _of_prefixes("gemini", GEMINI_3 if re.search(r"gemini-[3-9]", name) else GEMINI_2_5)
    if _DEEPSEEK.match(name) and all(_DEEPSEEK_HOST.fullmatch(host) for host in hosts):
        return _of_prefixes("deepseek", DEEPSEEK_V3)
    if _OPENAI.search(name):
        return _of_prefixes("openai", OPENAI)
    return None


_OPEN_WEIGHTS = re.compile(
    r"gpt[-_]?(?:oss|j|neo|2)(?![a-z0-9])|gpt[-_]?neox|gpt4all|distill|gguf|awq|gptq|lora|"
    r"(?<![a-z0-9.])\d{1,3}(?:\.\d)?b(?![a-z0-9])"  # with their number of parameters in the name
)
_HOST = re.compile(
    r"openai|text-completion-openai|azure(?:_ai|_text)?|chatgpt|codex|github(?:_copilot)?|anthropic|"
    r"bedrock(?:_converse)?|converse|google|gemini|vertex_ai(?:_beta)?|models|deepseek|openrouter|"
    r"litellm(?:_proxy)?|arn:aws.*"
)
_DEEPSEEK = re.compile(r"deepseek-(?:chat|reasoner|coder|v\d|r\d)")
_DEEPSEEK_HOST = re.compile(r"deepseek|openrouter|litellm(?:_proxy)?")
_OPENAI = re.compile(
    r"(?:^|[-_.:])(?:gpt-?[345](?![0-9]?b)|chatgpt|codex)|^(?:ft:)?o[134](?=$|[-_.:@])"
)


def _of_prefixes(name: ProviderName, rule: PrefixRule) -> ProviderRule:
    return ProviderRule(name, rule.least, rule.step, rule.idle_s, None)


def _is_model(part: str, name: str) -> bool:
    """`opus-4.5` is `claude-opus-4-5-20251101`."""
    family, _, version = part.partition("-")
    return f"{family}-{version.replace('.', '-')}" in name or f"{family}-{version}" in name


def lifetime_of(ttl: object, rule: ProviderRule) -> float:
    """Anthropic's `ttl` of a breakpoint; else the rule's own."""
    return HOUR_S if ttl == "1h" else rule.lifetime_s
