"""What ids of requests, sessions and traces, random tokens and counters look like in text.

Matched at a given place, never searched for, and bounded in length.
"""

import re
from itertools import pairwise


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HEX = "[0-9A-Fa-f]"
UUID = re.compile(rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}\Z")
TRACEPARENT = re.compile(rf"{_HEX}{{2}}-{_HEX}{{32}}-{_HEX}{{16}}-{_HEX}{{2}}\Z")
ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
HEX = re.compile(r"(?:[0-9a-f]{16,128}|[0-9A-F]{16,128})\Z")
PREFIXED = re.compile(
    r"(?:req|request|chatcmpl|cmpl|msg|resp|run|thread|call|toolu|sess|session|conv|trace|span|gen|"
    r"evt|job|txn|inv|corr|order|id)[_-](?P<value>[A-Za-z0-9_-]{6,128})\Z"
)

LABEL_WORDS = _words(
    "request req session trace span correlation conversation conv run job thread message msg "
    "invocation transaction execution build chat interaction event nonce random "
    "traceparent x"
)
LABELLED = re.compile(
    r"(?i:(?<![0-9a-z])(?:(?:request|req|session|trace|span|correlation|conversation|conv|run|job|"
    r"thread|message|msg|invocation|transaction|execution|build|chat|interaction|event|"
    r"x-request|x-trace|x-session)[ _-]?(?:id|uuid|guid|key|token|hash|no|number)|nonce|"
    r"traceparent|random[ _-]?seed)[\"']?[ ]?(?:[:=#]|is)?[ ]?[\"'`<\[(#]?"
    r"(?P<value>(?=[\w.:/+=-]{0,127}\d)[\w.:/+=-]{2,127}\w))"
)
"""Sure whatever the value looks like, so long as it has a digit."""

NAMED = re.compile(
    r"(?i:(?<![0-9a-z])(?:request|session|trace|span|conversation|thread|run|job|invocation|build)"
    r"[\"']?[ ]?[:=#][ ]?[\"'`<\[(#]?(?P<value>[0-9a-z][0-9a-z_-]{5,127})(?![0-9a-z_.-]))"
)
"""Sure where the value looks random."""

_UNIT = (
    r"(?:tokens?|turns?|steps?|requests?|messages?|calls?|iterations?|attempts?|credits?|seconds?)"
)
COUNTED_WORDS = _words(
    "step steps turn turns iteration iter attempt attempts round message messages request requests "
    "retry retries call calls query exchange interaction loop cycle count counter seq sequence "
    "poll"
)
SAID_WORDS = _words(
    "token tokens budget remaining left used elapsed spent usage context cost uptime quota credits"
)
_COUNTED = rf"(?:{'|'.join(sorted(COUNTED_WORDS, key=len, reverse=True))})"
_SAID = rf"(?:{'|'.join(sorted(SAID_WORDS, key=len, reverse=True))})"
NUMBER = r"\d{1,12}(?:,\d{3}){0,4}(?:\.\d{1,6})?(?!\d)"
_END = r"(?![A-Za-z0-9_])"
_OF = rf"[ ]?(?:/|of)[ ]?{NUMBER}"
SURE_AT_WORD = tuple(
    re.compile(rf"(?i:(?<![A-Za-z0-9_]){pattern})")
    for pattern in (
        rf"(?<=\[){_COUNTED}[ ]?(?:no\.?[ ]?|number[ ]?)?[:#=]?[ ]?{NUMBER}(?:{_OF})?(?=[ ]?\])",
        rf"{_COUNTED}(?:[ ]no\.?|[ ]number)?[ ]?[:#=]?[ ]?{NUMBER}{_OF}(?![A-Za-z0-9_/])",
        rf"(?:token[ ])?budget[:= ]{{1,2}}(?:is[ ])?\$?{NUMBER}(?:[ ]?/[ ]?\$?{NUMBER})?"
        rf"(?:[ ]{_UNIT})?(?:[ ](?:left|remaining|used))?{_END}",
        rf"(?<=this is ){_COUNTED}[ ]?(?:no\.?|number|nr\.?)?[ ]?#?[ ]?{NUMBER}{_END}",
        rf"{_UNIT}[ ](?:[a-z]{{2,12}}[ ])?(?:so[ ]far|today|until[ ]now)[ ]?[:=][ ]?{NUMBER}{_END}",
        rf"(?:remaining|used|elapsed)[ ]{_UNIT}[ ]?[:=][ ]?{NUMBER}{_END}",
        rf"{_UNIT}[ ](?:remaining|left|used)[ ]?[:=][ ]?{NUMBER}(?:{_OF})?{_END}",
    )
)
LOOSE_AT_WORD = tuple(
    re.compile(rf"(?i:(?<![A-Za-z0-9_]){pattern})")
    for pattern in (
        rf"{_COUNTED}(?:[ ]no\.?|[ ]number)?[ ]?[:#=]?[ ]?{NUMBER}{_END}",
        rf"{_SAID}[ ]?[:=][ ]?\$?{NUMBER}[ ]?(?:%|ms|s|min)?{_END}",
    )
)
SURE_AT_DIGIT = re.compile(
    rf"(?i:(?<![A-Za-z0-9_.,]){NUMBER}[ ]?(?:/[ ]?{NUMBER}[ ]?)?{_UNIT}[ ](?:are[ ])?"
    rf"(?:left|remaining|used so far|so far){_END})"
)
LOOSE_AT_DIGIT = re.compile(
    rf"(?i:(?<![A-Za-z0-9_.,]){NUMBER}[ ]?(?:%|{_UNIT})[ ](?:left|remaining|used){_END})"
)


def is_random(text: str) -> bool:
    """Whether letters and digits stand in no order that a name would have: two digits and more,
    a letter, and changes between digits, capitals and small letters all along."""
    if sum(c.isdigit() for c in text) < 2 or not any(c.isalpha() for c in text):
        return False
    kinds = [_class(c) for c in text if c.isalnum()]
    num_turns = sum(one != other for one, other in pairwise(kinds))
    return num_turns * 5 >= len(kinds)


def is_mixed(text: str) -> bool:
    """Whether capitals and small letters change as often as chance has them: an id in which no, or
    one, digit happens to be. Only where a prefix says that it is an id: names in camel case are
    alike."""
    if len(text) < _LEAST_MIXED or not text.isalnum() or not any(map(str.islower, text)):
        return False
    kinds = [_class(c) for c in text]
    return sum(one != other for one, other in pairwise(kinds)) * 3 >= len(kinds)


_LEAST_MIXED = 12


def _class(character: str) -> int:
    return 0 if character.isdigit() else 1 if character.isupper() else 2
