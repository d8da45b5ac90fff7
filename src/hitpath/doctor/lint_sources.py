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
        numpy.random.permutation builtins.hash
        """,
    ),
    **_named(
        "attribution",
        """
        os.getpid os.getppid os.getcwd os.getlogin os.uname getpass.getuser
        socket.gethostname socket.getfqdn platform.node pathlib.Path.cwd
        pathlib.Path.home tempfile.mkdtemp tempfile.mkstemp tempfile.mktemp
        tempfile.gettempdir threading.get_ident multiprocessing.current_process
        locale.getlocale locale.getdefaultlocale subprocess.run subprocess.check_output
        subprocess.getoutput subprocess.getstatusoutput subprocess.Popen os.popen
        asyncio.create_subprocess_exec asyncio.create_subprocess_shell
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

GIVEN_TIME = {"time.gmtime": 1, "time.localtime": 1, "time.ctime": 1, "time.asctime": 1,
              "time.strftime": 2, "email.utils.formatdate": 1}  # fmt: skip
"""Calls that look at no clock where their n-th argument is given."""

METHODS = {"iterdir": "array_order", "rglob": "array_order"}
"""Methods that say enough by their name."""

SHUFFLES = frozenset(["random.shuffle", "numpy.random.shuffle"])
"""Calls that change their argument."""

UNSEEDED = frozenset(
    [
        "random.Random",
        "numpy.random.default_rng",
        "numpy.random.RandomState",
        "random.SystemRandom",
    ]
)
"""Generators that are as random as the system where no seed is given."""

ENVIRONMENT = frozenset(["os.getenv", "os.environ.get", "os.environb.get"])
TELLS_WHERE = re.compile(
    r"^(?:USER|USERNAME|LOGNAME|HOME|PWD|OLDPWD|TMPDIR|TEMP|TMP|COMPUTERNAME|DISPLAY|TERM\w*"
    r"|SSH_\w+|(?:\w+_)?(?:HOST|POD|NODE|RUNNER)_?NAME|HOST|HOSTNAME"
    r"|\w*(?:REQUEST|SESSION|TRACE|JOB|RUN|BUILD|TASK)_?(?:ID|NUMBER)"
    r"|(?:CI|GITHUB|GIT)_\w*(?:SHA|COMMIT|BRANCH|REF)\w*)$"
)
"""Environment variables that say by whom or where it runs; others are configuration."""

BY_LOCALE = re.compile(r"%[-#0^_]?[xXc]")

ORDER_KINDS = frozenset(["array_order", "key_order", A_SET])
WALKS = frozenset(
    f"builtins.{name}"
    for name in (
        *(
            "list",
            "tuple",
            "str",
            "repr",
            "format",
            "map",
            "filter",
            "enumerate",
            "zip",
            "iter",
        ),
        *("next", "reversed", "print", "dict"),
    )
)
"""Calls that walk over their arguments, or write them."""

WALKING_METHODS = frozenset(["join", "format", "pop", "format_map", "extend", "dumps"])
TEXT_METHODS = frozenset(
    _named(
        "",
        """
        isoformat strftime ctime date time timestamp astimezone replace timetuple total_seconds
        isocalendar weekday isoweekday humanize to_iso8601_string to_date_string to_datetime_string
        shift floor strip lstrip rstrip lower upper title capitalize encode decode hex format
        format_map
        join split rsplit splitlines partition rpartition ljust rjust center zfill removeprefix
        removesuffix translate expandtabs casefold get items values keys copy pop read read_text
        choice choices sample permutation shuffle randint random uniform integers result union
        intersection difference symmetric_difference substitute safe_substitute render to_string
        as_posix resolve absolute joinpath with_suffix relative_to expanduser dumps model_dump dict
        """,
    )
)
"""Methods that make text or another form of what they are given, and nothing new."""
TEXT_CALLS = re.compile(
    r"^(?:builtins\.|textwrap\.|html\.|os\.path\.|pathlib\.|json\.|yaml\.|pprint\.|toml\w*\.|humanize\."
    r"|itertools\.|functools\.|operator\.|collections\.|datetime\.|time\.|math\.|string\."
    r"|asyncio\.(?:run|gather|wait_for|shield)$|babel\.|pytz\.|zoneinfo\.|dateutil\.|tabulate|str$)"
)

ORDERING = frozenset(["builtins.sorted", "natsort.natsorted"])
"""Calls behind which there is one order."""

SUMMING = frozenset(["builtins.max", "builtins.min", "builtins.sum", "statistics.mean"])
"""Calls that look at all and tell one: no order is left."""

DUMPS = frozenset(["json.dumps", "orjson.dumps", "ujson.dumps", "simplejson.dumps"])
COPIES = frozenset(
    [
        *(
            "builtins.list",
            "builtins.tuple",
            "builtins.iter",
            "builtins.reversed",
            "copy.copy",
        ),
        *(
            "copy.deepcopy",
            "typing.cast",
            "types.MappingProxyType",
            "collections.OrderedDict",
        ),
        *("textwrap.dedent", "inspect.cleandoc"),
    ]
)
"""Calls that give their first argument, members and all."""

NAMESPACES = frozenset(["types.SimpleNamespace", "argparse.Namespace"])
TEMPLATES = {
    "string.Template": "dollar",
    "jinja2.Template": "jinja",
    "jinja2.Environment.from_string": "jinja",
}
PROMPT_TEMPLATES = re.compile(
    r"(?:^|\.)(?:Chat|System|Human|AI|SystemMessage|HumanMessage|Rich)?(?:Message)?PromptTemplate"
    r"(?:\.(?:from_messages|from_template|from_string))?$"
)
"""LangChain's and LlamaIndex's: `ChatPromptTemplate.from_messages`."""

FILLING = frozenset(
    [
        *(
            "format",
            "format_messages",
            "format_prompt",
            "aformat_messages",
            "invoke",
            "ainvoke",
        ),
        *(
            "render",
            "render_async",
            "substitute",
            "safe_substitute",
            "stream",
            "astream",
        ),
        *("aformat", "aformat_prompt", "batch"),
    ]
)
"""Methods that fill a template's places."""

CONSTANT = frozenset(
    f"builtins.{name}"
    for name in (
        "len",
        "bool",
        "isinstance",
        "type",
        "hasattr",
        "callable",
        "any",
        "all",
    )
)
"""Calls whose result is no text of their argument."""

_FINE = re.compile(r"%[-#0^_]?[MSfXcTRsrp]")


def is_coarse_format(form: str) -> bool:
    """Whether a strftime format has nothing finer than the hour."""
    return _FINE.search(form) is None


SYSTEM_NAME = re.compile(
    r"(?:^|(?<!file)(?<!operating)(?<!host)(?<!unit)(?<!coordinate)_)"
    r"(?:system|sys|developer)(?:_?(?:prompt|message|msg|text|content|instructions?))?"
    r"(?:_?(?:template|base|prefix|header|v?\d+))?$"
    r"|(?:^|_)(?:instructions?|preamble|persona|guidelines|backstory)$",
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
SYSTEM_CALLS = re.compile(
    r"(?:^|\.)(?:System|Developer)(?:Message|PromptPart|ModelMessage|ChatMessage)"
    r"(?:Param|PromptTemplate)?(?:\.(?:from_template|from_text))?$"
    r"|(?:^|\.)\w*Message\.(?:from_|create_)?(?:system|developer)(?:_message)?$"
)
SYSTEM_METHODS = re.compile(
    r"^(?:add|append|push|set|with)_(?:system|developer)(?:_(?:message|prompt))?$"
)
MESSAGE_CALLS = re.compile(
    r"(?:message|msg|turn)s?$|^(?:add|append|push)$|^(?:add|append|push)_", re.I
)
"""Calls that make a message from its role and its text."""

REGISTERING = re.compile(r"^(?:system_prompt|instructions|dynamic_prompt|system_message)$")
"""Decorators of an agent whose function gives its instructions."""

SYSTEM_ROLES = frozenset(["system", "developer"])
