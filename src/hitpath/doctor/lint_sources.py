"""What in Python source gives another value for each request, and where prompts are put together.

Names are full dotted names after imports are resolved. No type is inferred: a method is known by
its name only where that name says enough.
"""

import re

CLOCK = "clock"
COARSE_CLOCK = "coarse clock"
"""A clock by the hour or day: told as a note, for it is the usual remedy."""

A_SET = "set"
"""A set: no matter until it is written or walked over; then "array_order"."""


def _named(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


CALLS: dict[str, str] = {
    **_named(
        CLOCK,
        """
        datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today
        time.time time.time_ns time.ctime time.asctime time.localtime time.gmtime
        time.strftime time.monotonic time.monotonic_ns time.perf_counter
        time.perf_counter_ns pendulum.now arrow.now arrow.utcnow
        django.utils.timezone.now pandas.Timestamp.now pandas.Timestamp.utcnow
        whenever.Instant.now email.utils.formatdate
        """,
    ),
    **_named(
        COARSE_CLOCK,
        """
        datetime.date.today pendulum.today pendulum.yesterday
        """,
    ),
    **_named(
        "request_id",
        """
        uuid.uuid1 uuid.uuid4 uuid.uuid6 uuid.uuid7 uuid.getnode secrets.token_hex
        secrets.token_urlsafe secrets.token_bytes secrets.randbits os.urandom
        ulid.new ulid.ULID nanoid.generate shortuuid.uuid builtins.id
        """,
    ),
    **_named(
        "random_sample",
        """
        random.random random.randint random.randrange random.choice random.choices
        random.sample random.uniform random.getrandbits secrets.choice
        secrets.randbelow numpy.random.rand numpy.random.randint numpy.random.choice
        numpy.random.permutation
        """,
    ),
    **_named(
        "attribution",
        """
        os.getpid os.getppid os.getcwd os.getlogin os.uname getpass.getuser
        socket.gethostname socket.getfqdn platform.node pathlib.Path.cwd
        pathlib.Path.home tempfile.mkdtemp tempfile.mkstemp tempfile.mktemp
        tempfile.gettempdir threading.get_ident multiprocessing.current_process
        """,
    ),
    **_named(
        "counter",
        """
        itertools.count builtins.next
        """,
    ),
    **_named(
        "array_order",
        """
        os.listdir os.scandir os.walk glob.glob
        glob.iglob asyncio.as_completed concurrent.futures.as_completed
        """,
    ),
    **_named(A_SET, "builtins.set builtins.frozenset"),
}
"""Calls whose result changes, with the doctor's kind."""

METHODS = {"iterdir": "array_order", "rglob": "array_order"}
"""Methods that say enough by their name."""

SHUFFLES = frozenset(["random.shuffle", "numpy.random.shuffle"])
"""Calls that change their argument."""

ORDER_KINDS = frozenset(["array_order", "key_order", A_SET])
WALKS = frozenset(
    f"builtins.{name}"
    for name in (
        *("list", "tuple", "str", "repr", "format", "map", "filter", "enumerate", "zip", "iter"),
        *("next", "reversed", "print", "dict"),
    )
)
"""Calls that walk over their arguments, or write them."""

WALKING_METHODS = frozenset(["join", "format", "pop", "format_map", "extend", "dumps"])
ORDERING = frozenset(["builtins.sorted", "natsort.natsorted"])
"""Calls behind which there is one order."""

CONSTANT = frozenset(
    f"builtins.{name}"
    for name in ("len", "bool", "isinstance", "type", "hasattr", "callable", "any", "all")
)
"""Calls whose result is no text of their argument."""

_FINE = re.compile(r"%[-#0^_]?[MSfXcTRsrp]")


def is_coarse_format(form: str) -> bool:
    """Whether a strftime format has nothing finer than the hour."""
    return _FINE.search(form) is None


SYSTEM_NAME = re.compile(
    r"(?:^|_)(?:system|sys|developer)(?:_?(?:prompt|message|msg|text|content|instructions?))?"
    r"(?:_?(?:template|base|prefix|header|v?\d+))?$"
    r"|(?:^|_)(?:instructions?|preamble|persona|guidelines)$",
    re.IGNORECASE,
)
TOOLS_NAME = re.compile(
    r"^(?!(?:has|is|num|use|uses|should|can|allow|no)_)(?:\w*_)?(?:tools?|functions)"
    r"(?:_?(?:defs?|definitions?|schemas?|specs?|list|param))?$",
    re.IGNORECASE,
)
PROMPT_NAME = re.compile(r"(?:^|_)(?:prompt|prompt_text|context_prompt|prefix)$", re.IGNORECASE)
BUILDER_NAME = re.compile(
    r"(?:^|_)(?:build|make|get|create|render|format|compose|assemble)_\w*(?:system|prompt|instructions)"
    r"|(?:system|developer)_?(?:prompt|message|instructions)",
    re.IGNORECASE,
)
SYSTEM_CALLS = re.compile(r"(?:^|\.)(?:System|Developer)Message(?:PromptTemplate)?$")
SYSTEM_ROLES = frozenset(["system", "developer"])
