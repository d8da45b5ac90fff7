"""What was said in both of two requests, to the letter or by the id of a call that is one."""

from collections import Counter
from itertools import pairwise

import msgspec

from hitpath.doctor.calls import calls_of, is_call, is_result, without_ids
from hitpath.doctor.prompt import SYSTEM, TOOLS, Message, Prompt
from hitpath.doctor.said_keys import NEARLY, Key, is_telling, keys_within, sure_keys
from hitpath.doctor.shapes import overlap, words_of


def beyond_the_beginning(there: Prompt, here: Prompt) -> tuple[list[Message], list[Message], int]:
    """What was said there and here behind the messages that both begin with, and how many these
    are, where another question follows: examples and greetings stand in all dialogues of an
    application. Where another reply follows, the beginning was said in one dialogue."""
    olds, news = (
        [m for m in prompt.messages if m.segment not in (SYSTEM, TOOLS)] for prompt in (there, here)
    )
    lead = 0
    while lead < min(len(olds), len(news)) and olds[lead].key == news[lead].key:
        lead += 1
    is_another = all(side[lead].role == "user" for side in (olds, news) if lead < len(side))
    if 0 < lead < min(len(olds), len(news)) and not is_another:
        lead = 0
    return telling(there, olds[lead:]), telling(here, news[lead:]), lead


def share(there: Prompt, olds: list[Message], here: Prompt, news: list[Message]) -> bool:
    """Whether one of these messages is one of those: to the letter, or by the id of its call."""
    one = {key for m in olds for key in sure_keys(there, m)} - ids_made_anew(there, here)
    if olds and olds[-1] is there.messages[-1]:
        one.update(keys_within(there, olds[-1]))
    if not one.isdisjoint(key for m in news for key in sure_keys(here, m)):
        return True
    return not _answered(there, olds).isdisjoint(_answered(here, news))


def _answered(prompt: Prompt, messages: list[Message]) -> set[tuple[int, int]]:
    """Calls with what they gave back, but for their ids, which a client may make anew: both are
    the same in two dialogues hardly ever, where the result says something."""
    return {
        (without_ids(prompt, call), without_ids(prompt, result))
        for call, result in pairwise(messages)
        if is_call(prompt, call)
        and is_result(prompt, result)
        and len(prompt.text_of(result)) >= _LEAST_RESULT
    }


_LEAST_RESULT = 120


def ids_made_anew(there: Prompt, here: Prompt) -> set[Key]:
    """Keys of ids by which the two call different tools, or one with other words: they are numbered
    in each dialogue, or given out again."""
    one, other = calls_of(there), calls_of(here)
    return {
        ("id", hash(call))
        for call in one.keys() & other.keys()
        if one[call][0] != other[call][0] or not _is_given_alike(one[call][1], other[call][1])
    }


def _is_given_alike(one: str, other: str) -> bool:
    """Whether two calls were given nearly the same: of arguments the values tell, not their names,
    nor how the JSON is written."""
    values = [_values_of(text) for text in (one, other)]
    if all(values):
        return overlap(values[0], values[1]) >= NEARLY
    return overlap(words_of(one), words_of(other)) >= NEARLY


def _values_of(text: str) -> dict[str, int]:
    """How often each value, a word of a string, stands in JSON; nothing for what is none."""
    try:
        waiting = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        return {}
    found: Counter[str] = Counter()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        else:
            found.update(str(value).split())
    return found


def share_a_message(there: Prompt, here: Prompt) -> bool:
    """Whether something that was said, and is long enough to be known again, stands in both."""
    return not {m.key for m in said_in(there)}.isdisjoint(m.key for m in said_in(here))


def said_in(prompt: Prompt) -> list[Message]:
    """The messages that are no instructions and telling."""
    return telling(prompt, [m for m in prompt.messages if m.segment not in (SYSTEM, TOOLS)])


def telling(prompt: Prompt, messages: list[Message]) -> list[Message]:
    """Those that are long enough to be known again, and no notes."""
    return [m for m in messages if is_telling(prompt.text_of(m))]
