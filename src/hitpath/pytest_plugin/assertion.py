"""The check itself: one call a world, compared with the first, then turn by turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitpath.core import printable
from hitpath.pytest_plugin.arguments import shuffled
from hitpath.pytest_plugin.calling import NoChild, result_in_child, result_of
from hitpath.pytest_plugin.compare import Difference, first_difference, kind_in, plain
from hitpath.pytest_plugin.worlds import World, inside, other_locale, worlds

_DAY_AND_MORE_S = 93_787.0  # a day, two hours, three minutes, seven seconds: every part changes
_HASH_SEEDS = (1, 4_242)
_FIXES = {
    "clock": "put it into the last message, or make it coarser (clock_shift_s)",
    "tool_order": "sort tools by name: hitpath.canonical.stable_tools",
    "key_order": "write JSON with sorted keys: hitpath.canonical.canonical_json",
    "array_order": "sort what has no order of its own",
    "random_sample": "draw it from a fixed seed, or put it into the last message",
    "request_id": "put it into the last message",
    "counter": "put it into the last message",
    "truncated_history": "keep what was sent; compact rarely, and then at once",
    "white_space": "hitpath.canonical.normalise_space",
    "hidden_characters": "hitpath.canonical.normalise_space",
    "unicode_form": "hitpath.canonical.normalise_unicode",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked, and what could not be, each with its reason."""

    worlds: tuple[str, ...]
    not_checked: tuple[str, ...]


class PrefixBroken(AssertionError):
    """A built prompt is not the beginning of the other one. world: in what they were built."""

    def __init__(self, world: str, found: Difference, fix: str = "") -> None:
        place = found.json_path or "the prompt"
        lines = [
            f"the prefix breaks {world}",
            f"  kind     {found.kind}",
            f"  at       {place}, character {found.char_offset:,}",
            f"  first    {printable(found.first)}",
            f"  then     {printable(found.second)}",
        ]
        fix = fix or _FIXES.get(found.kind, "")
        if fix:
            lines.append(f"  fix      {fix}")
        super().__init__("\n".join(lines))
        self.world = world
        self.difference = found


def check(
    build_prompt: Callable[..., Any],
    *args: Any,
    grows: Sequence[Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    clock_shift_s: float = _DAY_AND_MORE_S,
    shuffle: bool = True,
    free_tail: bool = True,
    hash_seeds: bool | None = None,
    timeout_s: float = 60.0,
) -> Checked:
    """Raise PrefixBroken where a prompt built in another world does not begin as the first one.

    build_prompt(*args, **kwargs): gives text, token ids, a list of messages or a request body; may
    be async or a generator. grows: arguments of later turns (a tuple each, or the only argument):
    each turn's prompt must begin with the one before. clock_shift_s: 3,599 lets a clock by the day
    pass on most days, the default does not. shuffle: also build dicts and sets of the arguments in
    another order. free_tail: the last message, behind others, may differ. hash_seeds: build in two
    new processes whose sets have other orders; None where that is possible, True or else NoChild.
    """
    __tracebackhide__ = True
    kwargs = kwargs or {}
    found_locale = other_locale()
    not_checked = []
    if found_locale is None:
        not_checked.append("another locale, for none is installed here")
    tried = [w for w in worlds(clock_shift_s, found_locale) if shuffle or not w.shuffled]
    first = _built(tried[0], build_prompt, args, kwargs)
    for world in tried[1:]:
        built = _built(world, build_prompt, args, kwargs)
        _compare(world, first, built, free_tail)
    names = [world.name for world in tried[1:]]
    if hash_seeds is not False:
        try:
            _check_seeds(build_prompt, args, kwargs, free_tail, timeout_s)
            names.append("with other hash seeds")
        except NoChild as error:
            if hash_seeds:
                raise
            not_checked.append(f"the order of sets under another hash seed: {error}")
    before = first
    for number, later in enumerate(grows or (), 2):
        arguments = later if isinstance(later, tuple) else (later,)
        turn = _built(tried[0], build_prompt, arguments, kwargs)
        _compare(World(f"from turn {number - 1} to turn {number}"), before, turn, free_tail)
        before = turn
    return Checked(tuple(names), tuple(not_checked))


def _built(
    world: World, build: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a world gives; what the builder raises passes, with a note of where."""
    __tracebackhide__ = True
    if world.shuffled:
        args, kwargs = shuffled(args), shuffled(kwargs)
    try:
        with inside(world):
            made = result_of(build, args, kwargs)
    except Exception as error:
        error.add_note(f"raised by the prompt builder itself, {world.name}")
        raise
    return plain(made)


def _check_seeds(
    build: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    free_tail: bool,
    timeout_s: float,
) -> None:
    __tracebackhide__ = True
    results = [plain(result_in_child(build, args, kwargs, seed, timeout_s)) for seed in _HASH_SEEDS]
    world = World("under another hash seed (PYTHONHASHSEED)", kind="array_order")
    _compare(world, results[0], results[1], free_tail)


def _compare(world: World, first: Any, second: Any, free_tail: bool) -> None:
    __tracebackhide__ = True
    found = first_difference(first, second, free_tail)
    if found is not None:
        if found.kind == "edited_message":
            found = replace(found, kind=kind_in(world.kind, found))
        raise PrefixBroken(world.name, found, world.fix)
