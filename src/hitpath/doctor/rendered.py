"""Where parts of a request stand in the text that a chat template makes of it.

Nothing is known of the template: characters that no text has are put into strings of the request,
and the rendered text shows where they end up. They must change nothing else; where they do (a
template that looks at how a text begins), each is tried by itself, and stands where the two
renderings part. JSON is looked for in the text (json_places.py).

Places are characters of the rendered text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hitpath.core import HitpathError
from hitpath.doctor.chats import messages_of, tools_of, with_values
from hitpath.doctor.json_places import JsonPlaces
from hitpath.doctor.prompt import TOOLS, Part, Prompt
from hitpath.doctor.requests import Request
from hitpath.doctor.textdiff import common_length
from hitpath.text.tokenizer import TextTokenizer

_FIRST = 0xF0000
_MOST_AROUND = 4
_PRIVATE = re.compile("[\U000f0000-\U0010fffd]")
_MOST_POINTS = 0x1FFFD
_MOST_RENDERINGS, _LEAST_RENDERINGS, _MOST_RENDERED_CHARS = 48, 4, 20_000_000
_UNTOLD = (OverflowError, RecursionError, TypeError, ValueError, KeyError, IndexError)
Point = tuple[int, int]
"""A part and a character of its text, both numbers."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a part stands: characters [start, end)."""

    start: int
    end: int


class Rendered:
    """One request as its template writes it. Raises HitpathError, and what Python raises for what
    cannot be rendered, which the reader has told before."""

    def __init__(self, request: Request, tokenizer: TextTokenizer) -> None:
        self._request = request
        self._tokenizer = tokenizer
        self.prompt: Prompt = request.prompt
        self.is_one_text = not request.said
        if self.is_one_text:
            self.text = "".join(part.text for part in self.prompt.parts)
        else:
            self.text = tokenizer.render_chat(messages_of(request), tools_of(request))
        self._points: dict[Point, int | None] = {}
        self._json: dict[int, JsonPlaces] = {}
        fitting = _MOST_RENDERED_CHARS // max(len(self.text), 1)
        self._left = min(max(fitting, _LEAST_RENDERINGS), _MOST_RENDERINGS)

    def look_up(self, points: Iterable[Point]) -> None:
        """Find these characters of strings, and what places of JSON need, all at once."""
        wanted: dict[Point, None] = {}
        for number, char in points:
            if self._is_string(number):
                wanted[number, char] = None
            else:
                wanted.update(dict.fromkeys(self._around(number)))
        self._find([point for point in wanted if point not in self._points])

    def place(self, number: int, char: int) -> int | None:
        """Of a character of a part, None where it does not stand in the text."""
        if self.is_one_text:
            return self.prompt.parts[number].base + char
        if not self._is_string(number):
            return self.json_of(number).place(char)
        if (number, char) not in self._points:
            self._find([(number, char)])
        return self._points[number, char]

    def span(self, number: int) -> Span | None:
        """Of a whole part, None where it does not stand in the text."""
        part = self.prompt.parts[number]
        start = self.place(number, 0)
        if self.is_one_text or self._is_string(number):
            end = self.place(number, len(part.text))
        else:
            found = self.json_of(number).found
            end = max((one.end for one in found), default=None)
            start = min((one.at for one in found), default=None)
        return None if start is None or end is None or end <= start else Span(start, end)

    def head(self, begin: int, end: int) -> int:
        """Where the head of a message begins, of which characters [begin, end) stand between two
        texts: at the second special token (the first ends the message before), or at the only
        one."""
        cuts = self._tokenizer.cuts
        if cuts.added is None:
            return begin
        found = (match for match in cuts.added.finditer(self.text, begin, end))
        starts = [match.start() for match in found if match[0] in cuts.reach][:2]
        return starts[-1] if starts else begin

    def _is_string(self, number: int) -> bool:
        return self.prompt.parts[number].form in ("string", "escaped")

    def _around(self, number: int) -> list[Point]:
        """The ends of the strings before a piece of JSON and the beginnings of those behind it, the
        nearest first: between them it stands. A few, for a template may leave some out. None for
        tools, which every template has elsewhere."""
        parts = self.prompt.parts
        if parts[number].segment == TOOLS:
            return []
        told = [n for n, part in enumerate(parts) if self._is_string(n) and part.text.strip()]
        at = bisect_left(told, number)
        before, behind = told[max(0, at - _MOST_AROUND) : at], told[at : at + _MOST_AROUND]
        return [*((n, len(parts[n].text)) for n in reversed(before)), *((n, 0) for n in behind)]

    def json_of(self, number: int) -> JsonPlaces:
        """Where the pieces of a part that is JSON stand."""
        known = self._json.get(number)
        if known is None:
            around = [(n, self.place(n, char)) for n, char in self._around(number)]
            begin = next((at for n, at in around if n < number and at is not None), 0)
            end = next((at for n, at in around if n > number and at is not None), len(self.text))
            begin, end = (begin, end) if begin <= end else (0, len(self.text))
            value = self.prompt.parts[number].value
            known = self._json[number] = JsonPlaces(value, self.text, begin, end)
        return known

    def _find(self, points: Sequence[Point]) -> None:
        """By one rendering; where that changes more than it should, by halves."""
        if not points or self._left <= 0:
            self._points.update(dict.fromkeys(points))
            return
        self._left -= 1
        rendered = self._with_marks(points)
        if rendered is None or (len(points) > 1 and self._without(rendered) != self.text):
            if len(points) > 1:
                middle = len(points) // 2
                self._find(points[:middle])
                self._find(points[middle:])
            else:
                self._points.update(dict.fromkeys(points))
            return
        is_same = self._without(rendered) == self.text
        found: dict[int, int] = {}
        for number, match in enumerate(_PRIVATE.finditer(rendered)):
            found.setdefault(ord(match[0]), match.start() - number)
        for code, point in enumerate(points, _FIRST):
            at = found.get(code)
            if at is not None and not is_same:
                at = common_length(self.text, rendered[:at])
            self._points[point] = None if at is None else self._untrimmed(point, at)

    def _without(self, rendered: str) -> str:
        return _PRIVATE.sub("", rendered)

    def _with_marks(self, points: Sequence[Point]) -> str | None:
        """The rendering with a mark at each point, None where the template refuses that."""
        if len(points) > _MOST_POINTS or _PRIVATE.search(self.text):
            return None
        by_part: dict[int, list[tuple[int, str]]] = {}
        for code, (number, char) in enumerate(points, _FIRST):
            by_part.setdefault(number, []).append((self._inside(number, char), chr(code)))
        changed: list[tuple[Part, str]] = []
        for number, marks in by_part.items():
            part = self.prompt.parts[number]
            pieces, at = [], 0
            for char, mark in sorted(marks):
                pieces += [part.text[at:char], mark]
                at = char
            changed.append((part, "".join((*pieces, part.text[at:]))))
        try:
            messages = with_values(self._request, changed)
            return self._tokenizer.render_chat(messages, tools_of(self._request))
        except (HitpathError, *_UNTOLD):
            return None

    def _inside(self, number: int, char: int) -> int:
        """The character within the text that is no space around it: templates trim."""
        text = self.prompt.parts[number].text
        return min(max(char, len(text) - len(text.lstrip())), max(len(text.rstrip()), 0))

    def _untrimmed(self, point: Point, at: int) -> int:
        """The place of a space at the edge, where the template has kept it."""
        number, char = point
        text, inside = self.prompt.parts[number].text, self._inside(number, char)
        if char < inside and self.text[max(0, at - inside + char) : at] == text[char:inside]:
            return at - (inside - char)
        if char > inside and self.text[at : at + char - inside] == text[inside:char]:
            return at + (char - inside)
        return at
