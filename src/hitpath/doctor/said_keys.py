"""By what a message is known again in a later request: to the letter, by the id of its call, by its
words without numbers, without what stood around it for one call."""

import re
from itertools import pairwise

from hitpath.doctor.calls import call_ids, without_ids
from hitpath.doctor.history import is_note
from hitpath.doctor.prompt import Message, Prompt
from hitpath.doctor.shapes import loose_key
from hitpath.doctor.words_of_kinds import MARKER, TAG

LEAST_SAID = 16
"""Characters of a message by which two requests are known to be of one conversation."""
SHORT_QUESTION, FEW, FEW_WORDS = 400, 2, 8
"""Characters, messages (or words of a text that may be any), words of a text that tells."""
NEARLY = 0.75
"""Of the words, where they are nearly the same."""
MOST_KEYS = 1 << 20
Key = tuple[str, int]


def sure_keys(prompt: Prompt, message: Message) -> list[Key]:
    """By what a message is surely known again: its call's id, else its words, where there are
    enough; a picture among them may be encoded anew. None of a note that stands for more."""
    ids = call_ids(prompt, message)
    if ids:
        return [("id", hash(i)) for i in ids]
    if not is_telling(prompt.text_of(message)):
        return []
    return [("=", message.key), _key_of(message, prompt.words_of(message))]


def _key_of(message: Message, words: str) -> Key:
    return "words", hash((message.role, words.strip()))


def keys_within(prompt: Prompt, message: Message) -> list[Key]:
    """By what the last message of a request is known again where something stood around it for
    that one call: a stamp, notes, documents. What is left begins or ends with a paragraph, or is
    one, or the first or last line; a label may stand before it."""
    if message.role == "assistant" or call_ids(prompt, message):
        return []
    text = prompt.words_of(message).strip()
    ends = [found.span() for found in _PARAGRAPH.finditer(text)]
    within = [text[:begin] for begin, _ in ends[-_MOST_AROUND:]]
    within += [text[end:] for _, end in ends[-_MOST_AROUND:]]
    paragraphs = [text[a:b] for (_, a), (b, _) in pairwise([(0, 0), *ends, (len(text), 0)])]
    within += paragraphs[:_MOST_AROUND] + paragraphs[_MOST_AROUND:][-_MOST_AROUND:]
    within += [text.partition("\n")[0], text.rpartition("\n")[2]]
    within += [_LABEL.sub("", words, count=1) for words in within]
    return [_key_of(message, words) for words in dict.fromkeys(within) if is_telling(words)]


_PARAGRAPH = re.compile(r"\n\s*\n")
_LABEL = re.compile(r"\A[^\W\d_][\w ]{0,30}[:\uff1a]\s*")
"""What a template writes before a question: `Question: `."""
_MOST_AROUND = 4


def likely_keys(prompt: Prompt, message: Message) -> list[Key]:
    """By what it is likely known again: its words without numbers, of a call all but its id."""
    text, ids = prompt.text_of(message), call_ids(prompt, message)
    if not is_telling(text, sum(map(len, ids))):
        return []
    return [
        (
            message.role,
            without_ids(prompt, message) if ids else loose_of(prompt, message),
        )
    ]


def all_keys(prompt: Prompt, message: Message) -> list[Key]:
    return [*sure_keys(prompt, message), *likely_keys(prompt, message)]


def is_telling(text: str, num_id_chars: int = 0) -> bool:
    return len(text) - num_id_chars >= LEAST_SAID and not is_note(text)


_loose: dict[int, int] = {}


def loose_of(prompt: Prompt, message: Message) -> int:
    """The loose key of a message, which most requests of a session have again."""
    known = _loose.get(message.key)
    if known is None:
        if len(_loose) >= MOST_KEYS:
            _loose.clear()
        known = _loose[message.key] = loose_key(_untagged(prompt.words_of(message)))
    return known


def _untagged(text: str) -> str:
    """Without what a template puts around a message, for the last one perhaps more."""
    for _ in range(_MOST_TAGS):
        begin, end = (
            _TAG_BEFORE.match(text),
            _TAG_BEHIND.search(text, max(0, len(text) - 64)),
        )
        if begin is None and end is None:
            break
        text = text[begin.end() if begin else 0 : end.start() if end else len(text)]
    return text


_MOST_TAGS = 3
_TAG_BEFORE = re.compile(rf"\s*(?:{TAG.pattern}|{MARKER.pattern})")
_TAG_BEHIND = re.compile(rf"(?:{TAG.pattern}|{MARKER.pattern})\s*\Z")
