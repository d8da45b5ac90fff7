"""The source linter across functions, classes, dicts, templates and files.

Shapes are written by hand as agent code of LangChain, LlamaIndex, PydanticAI, the OpenAI and
Anthropic clients and plain Python builds prompts.
"""

import textwrap
from pathlib import Path

import pytest

from hitpath.doctor.lint_record import Finding
from hitpath.doctor.lint_source import lint_source

HEAD = """\
import asyncio, functools, json, os, random, string, time, uuid
import jinja2
from collections import namedtuple
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from types import SimpleNamespace
from typing import NamedTuple, TypedDict
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate, SystemMessagePromptTemplate
from pydantic import BaseModel, Field
"""


def linted(folder: Path, **files: str) -> list[Finding]:
    """Files by their path, `__` for a slash; "init" stands for "__init__"."""
    for name, code in files.items():
        path = folder / (name.replace("__", "/").replace("/init", "/__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(code))
    return lint_source([str(folder)])


def told(folder: Path, code: str) -> list[tuple[str, str]]:
    return [
        (one.rule.kind, one.excerpt) for one in linted(folder, prompts=HEAD + textwrap.dedent(code))
    ]


NOW = ("clock", "datetime.now()")
ID = ("request_id", "uuid.uuid4()")

FOUND = {
    "an argument of a builder": ("""
        def build_system(now):
            return f"Time: {now}\\nYou are helpful."
        build_system(datetime.now())
        """, [NOW]),
    "by keyword, through two functions": ("""
        def section(title, *, body):
            return f"## {title}\\n{body}\\n"
        def head(now):
            return section("Time", body=now) + section("Rules", body=RULES)
        ask(system=head(now=datetime.now()))
        """, [NOW]),
    "into a message within the helper": ("""
        def message(text):
            return {"role": "system", "content": text}
        messages = [message(f"{datetime.now()} rules")]
        """, [NOW]),
    "a recursive helper": ("""
        def joined(parts, at):
            return "" if at == 0 else str(parts) + joined(parts, at - 1)
        ask(system=joined(datetime.now(), 3))
        """, [NOW]),
    "two helpers that call each other": ("""
        def odd(x, n):
            return x if n == 0 else even(x, n - 1)
        def even(x, n):
            return x if n == 0 else odd(x, n - 1)
        ask(system=even(str(datetime.now()), 4))
        """, [NOW]),
    "extra arguments": ("""
        def lines(*parts, **named):
            return "\\n".join(parts) + str(named)
        ask(system=lines("rules", str(datetime.now()), id=uuid.uuid4()))
        """, [NOW, ID]),
    "spread arguments": ("""
        def build_system(now, rules):
            return f"{now} {rules}"
        context = {"now": datetime.now(), "rules": RULES}
        build_system(**context)
        """, [NOW]),
    "a clock that is passed to be called": ("""
        def build_system(clock):
            return f"{clock()} rules"
        build_system(datetime.now)
        """, [("clock", "datetime.now")]),
    "a default argument": ("""
        def build_system(now=datetime.now()):
            return f"{now} rules"
        """, [NOW]),
    "a keyword-only default": ("""
        def build_system(*, now=datetime.now()):
            return f"{now} rules"
        """, [NOW]),
    "the constructor's argument": ("""
        class Builder:
            def __init__(self, now):
                self.now = now
            def build(self):
                return {"role": "system", "content": f"{self.now} rules"}
        Builder(datetime.now()).build()
        """, [NOW]),
    "a method's argument": ("""
        class Builder:
            def build(self, now):
                return f"{now} rules"
        builder = Builder()
        ask(system=builder.build(datetime.now()))
        """, [NOW]),
    "a base class's constructor": ("""
        class Base:
            def __init__(self, now):
                self.now = now
        class Builder(Base):
            def __init__(self, now, rules):
                super().__init__(now)
                self.rules = rules
            @property
            def text(self):
                return f"{self.now} {self.rules}"
        ask(system=Builder(datetime.now(), RULES).text)
        """, [NOW]),
    "a setter": ("""
        class Builder:
            def with_time(self, now):
                self.now = now
                return self
            def system_prompt(self):
                return f"{self.now} rules"
        Builder().with_time(datetime.now())
        """, [NOW]),
    "a dataclass": ("""
        @dataclass
        class Context:
            rules: str
            now: datetime
        def build_system(context: Context):
            return f"{context.now} {context.rules}"
        build_system(Context(RULES, datetime.now()))
        """, [NOW]),
    "a dataclass written whole": ("""
        @dataclass
        class Context:
            now: str
        ask(system=f"{Context(str(datetime.now()))} rules")
        """, [NOW]),
    "a dataclass as a dict": ("""
        @dataclass
        class Context:
            rules: str
            now: str
        context = Context(RULES, str(datetime.now()))
        ask(system="{now} {rules}".format(**asdict(context)))
        """, [NOW]),
    "a named tuple": ("""
        class Context(NamedTuple):
            now: str
            rules: str
        ask(system=Context(now=str(datetime.now()), rules=RULES).now)
        """, [NOW]),
    "a default factory": ("""
        class Context(BaseModel):
            now: datetime = Field(default_factory=datetime.now)
        def build_system(context: Context):
            return f"{context.now} rules"
        """, [NOW]),
    "a typed dict": ("""
        class Context(TypedDict):
            now: str
        context = Context(now=str(datetime.now()))
        ask(system=context["now"])
        """, [NOW]),
    "a namespace": ("""
        context = SimpleNamespace(now=datetime.now(), rules=RULES)
        ask(system=f"{context.now} {context.rules}")
        """, [NOW]),
    "a dict's key": ("""
        context = {"now": datetime.now(), "rules": RULES}
        ask(system=f"{context['now']} {context['rules']}")
        """, [NOW]),
    "a key that is set later": ("""
        context = {"rules": RULES}
        context["now"] = datetime.now()
        ask(system="{now}. {rules}".format_map(context))
        """, [NOW]),
    "a dict that a helper fills": ("""
        def fill(context):
            context["now"] = datetime.now()
        context = {"rules": RULES}
        fill(context)
        ask(system=f"{context['now']} {context['rules']}")
        """, [NOW]),
    "get with a default": ("""
        context = {"now": datetime.now()}
        ask(system=f"{context.get('now', 'unknown')} rules")
        """, [NOW]),
    "string.Template": ("""
        TEXT = "It is $now. You are helpful."
        ask(system=string.Template(TEXT).substitute(now=datetime.now()))
        """, [NOW]),
    "jinja": ("""
        TEXT = "It is {{ now }}. You are helpful."
        ask(system=jinja2.Template(TEXT).render(now=datetime.now(), unused=uuid.uuid4()))
        """, [NOW]),
    "jinja from a file": ("""
        context = {"now": datetime.now()}
        ask(system=env.get_template("system.j2").render(**context))
        """, [NOW]),
    "percent": ("""
        ask(system="It is %(now)s. You are helpful." % {"now": datetime.now(), "id": uuid.uuid4()})
        """, [NOW]),
    "LangChain, partial": ("""
        chat = ChatPromptTemplate.from_messages([("system", "{now}. Help."), ("human", "{q}")])
        chat = chat.partial(now=lambda: datetime.now().isoformat())
        """, [NOW]),
    "LangChain, format_messages": ("""
        chat = ChatPromptTemplate.from_messages([("system", "{now}. Help."), ("human", "{q}")])
        def run(q):
            return chat.format_messages(now=datetime.now(), q=q)
        """, [NOW]),
    "LangChain, a chain": ("""
        chat = ChatPromptTemplate.from_messages([
            SystemMessagePromptTemplate.from_template("It is {now}. Help."), ("human", "{q}")])
        chain = chat | model
        def run(q):
            return chain.invoke({"now": datetime.now(), "q": q})
        """, [NOW]),
    "LangChain, mapped": ("""
        chat = ChatPromptTemplate.from_messages([("system", "{now}. Help."), ("human", "{q}")])
        chain = {"now": lambda _: datetime.now(), "q": first} | chat | model
        """, [NOW]),
    "LangChain, partial_variables": ("""
        system_prompt = PromptTemplate(template="It is {now}. Help.", input_variables=[],
                                       partial_variables={"now": datetime.now().isoformat()})
        """, [NOW]),
    "LlamaIndex": ("""
        def chat(now):
            return [ChatMessage(role=MessageRole.SYSTEM, content=f"{now} rules")]
        chat(datetime.now())
        """, [NOW]),
    "PydanticAI": ("""
        @agent.system_prompt
        def add_time(context) -> str:
            return f"It is {datetime.now()}"
        """, [NOW]),
    "parts in a list": ("""
        def build_system_prompt(now):
            parts = ["You are helpful."]
            parts.append(f"It is {now}.")
            return "\\n".join(parts)
        build_system_prompt(datetime.now())
        """, [NOW]),
    "ahead of words in a prompt": ("""
        def build_prompt(now, question):
            head = f"It is {now}.\\n"
            return head + "Answer the question. " + question
        build_prompt(datetime.now(), QUESTION)
        """, [NOW]),
    "a tuple of results": ("""
        def parts():
            return datetime.now(), RULES
        now, rules = parts()
        ask(system=f"{now} {rules}")
        """, [NOW]),
    "a set that a helper walks over": ("""
        def listed(names):
            return ", ".join(names)
        ask(system="Tools: " + listed(set(names)))
        """, [("array_order", "set(names)")]),
    "in a thread": ("""
        def build_system(now):
            return f"{now} rules"
        async def run():
            return await asyncio.to_thread(build_system, datetime.now())
        """, [NOW]),
    "partial": ("""
        def build_system(rules, now):
            return f"{now} {rules}"
        build = functools.partial(build_system, now=datetime.now())
        build(RULES)
        """, [NOW]),
    "who runs it": ("ask(system=f\"You help {os.environ['USER']}.\")",
                    [("attribution", "os.environ['USER']")]),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_flows_through_calls_classes_and_dicts(tmp_path: Path, name: str) -> None:
    code, expected = FOUND[name]
    assert sorted(told(tmp_path, code)) == sorted(expected)


CLEAN = {
    "another call of the same helper": """
        def ident(x):
            return x
        log(ident(datetime.now()))
        ask(system=ident(RULES))
        """,
    "an argument that is only logged": """
        def build_system(now, rules):
            log.info("built at %s", now)
            return f"{rules} rules"
        build_system(datetime.now(), RULES)
        """,
    "an argument that is only compared": """
        def build_system(now, rules):
            return rules if now > LIMIT else OTHER
        build_system(datetime.now(), RULES)
        """,
    "the other parameter": """
        def build(system, question):
            return [{"role": "system", "content": system}, {"role": "user", "content": question}]
        build(RULES, f"{question} ({datetime.now()})")
        """,
    "the other result": """
        def parts():
            return datetime.now(), RULES
        now, rules = parts()
        ask(system=rules)
        """,
    "another field": """
        @dataclass
        class Context:
            name: str
            now: datetime
        def build_system(context: Context):
            return f"{context.name} rules"
        build_system(Context("a", datetime.now()))
        """,
    "another attribute": """
        class Agent:
            def __init__(self, rules):
                self.started = time.time()
                self.rules = rules
            def system_prompt(self):
                return f"{self.rules} rules"
        Agent(RULES)
        """,
    "an attribute of another class": """
        class Job:
            def __init__(self):
                self.name = uuid.uuid4()
        class Agent:
            def __init__(self):
                self.name = "agent"
            def system_prompt(self):
                return f"{self.name} rules"
        """,
    "a default factory of another field": """
        class Context(BaseModel):
            name: str = "a"
            id: str = Field(default_factory=lambda: str(uuid.uuid4()))
        def build_system(context: Context):
            return f"{context.name} rules"
        """,
    "another key": """
        context = {"now": datetime.now(), "rules": RULES}
        ask(system=f"{context['rules']} rules")
        """,
    "a key that the text has not": """
        context = {"now": datetime.now(), "rules": RULES}
        ask(system="You are helpful. {rules}".format(**context))
        """,
    "a key that format_map does not use": """
        ask(system="{rules} only".format_map({"now": datetime.now(), "rules": RULES}))
        """,
    "a name that string.Template has not": """
        ask(system=string.Template("Rules: $rules").substitute(now=datetime.now(), rules=RULES))
        """,
    "a name that jinja has not": """
        TEXT = "{% if rules %}{{ rules }}{% endif %} 'now'"
        ask(system=jinja2.Template(TEXT).render(now=datetime.now(), rules=RULES))
        """,
    "a name of the human's text": """
        chat = ChatPromptTemplate.from_messages([("system", "Help."), ("human", "{now}: {q}")])
        def run(q):
            return chat.format_messages(now=datetime.now(), q=q)
        """,
    "a chain's other input": """
        chat = ChatPromptTemplate.from_messages([("system", "Help {who}."), ("human", "{q}")])
        chain = chat | model
        def run(q):
            return chain.invoke({"who": "people", "q": f"{q} {datetime.now()}"})
        """,
    "a coarse default": "def build_system(now=None):\n    return f'{now} rules'\nbuild_system('x')",
    "a clock function that is a tool": """
        def get_time():
            return datetime.now().isoformat()
        ask(tools=[get_time], system=RULES)
        """,
    "sorted within the helper": """
        def listed(names):
            return ", ".join(sorted(names))
        ask(system="Tools: " + listed(set(names)))
        """,
    "a set that is only counted": """
        def count(names):
            return f"{len(names)} tools, the longest {max(names)}"
        ask(system=count(set(names)))
        """,
    "the tail of a prompt": """
        def build_prompt(question, now):
            head = "Answer the question.\\n"
            return head + question + f"\\nIt is {now}"
        build_prompt(QUESTION, datetime.now())
        """,
    "the clock in an id of the request": """
        class Client:
            def __init__(self, system):
                self.session = str(uuid.uuid4())
                self.system = system
            def ask(self, question):
                return api.create(system=self.system, input=question, metadata={"s": self.session})
        Client(RULES).ask(QUESTION)
        """,
    "an instance that goes into an unknown call": """
        @dataclass
        class Session:
            id: str
        session = Session(str(uuid.uuid4()))
        ask(system=load_rules(session))
        """,
    "overwritten in both branches": """
        text = str(datetime.now())
        if fast:
            text = "short"
        else:
            text = "long"
        ask(system=text)
        """,
    "a branch that returns": """
        def build_system(debug):
            text = RULES
            if debug:
                text = str(datetime.now())
                log(text)
                raise ValueError(text)
            return text
        """,
    "a literal of the file": """
        SCHEMA = {"b": 1, "a": [1, 2]}
        ask(system=json.dumps(SCHEMA))
        """,
    "configuration of the environment": "ask(system=os.environ['RULES'] + os.getenv('TONE', ''))",
    "a seeded generator": """
        rng = random.Random(7)
        ask(system="Examples: " + ", ".join(rng.sample(EXAMPLES, 3)))
        """,
    "a message class by its role": """
        @dataclass
        class Message:
            role: str
            content: str
        user = Message("user", f"{datetime.now()}")
        ask(system=Message("x", RULES).content)
        """,
    "a keyword of the same name elsewhere": """
        def measure(start):
            return {"latency": time.time() - start}
        def run(system):
            start = time.time()
            answer = api.create(system=system)
            return answer, measure(start)
        """,
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_what_does_not_flow(tmp_path: Path, name: str) -> None:
    assert told(tmp_path, CLEAN[name]) == []


def test_each_call_has_its_own_arguments(tmp_path: Path) -> None:
    code = """
        def build_system(text):
            return f"{text} rules"
        def head(text):
            return build_system(text)
        head(RULES)
        head(time.ctime())
        head(date.today())
        """
    found = linted(tmp_path, prompts=HEAD + textwrap.dedent(code))
    assert [(one.excerpt, one.level) for one in found] == [
        ("time.ctime()", "warning"),
        ("date.today()", "note"),
    ]


CLOCK_FILE = """
    from datetime import datetime
    def stamp():
        return datetime.now().isoformat()
    RULES = "You are helpful."
    """


@pytest.mark.parametrize(
    ("head", "used"),
    [
        ("from app.clock import stamp", "stamp()"),
        ("from .clock import stamp as s", "s()"),
        ("import app.clock as c", "c.stamp()"),
        ("import app.clock", "app.clock.stamp()"),
        ("from . import clock", "clock.stamp()"),
        ("from app import stamp", "stamp()"),
        ("from app import clock", "clock.stamp()"),
        ("from app.clock import *", "stamp()"),
    ],
)
def test_values_come_from_other_files(tmp_path: Path, head: str, used: str) -> None:
    code = f"{head}\ndef build_system():\n    return f'It is {{{used}}}. Help.'\n"
    again = "from .clock import stamp\n" if head == "from app import stamp" else ""
    (one,) = linted(tmp_path, app__init=again, app__clock=CLOCK_FILE, app__prompts=code)
    assert one.path.endswith("app/clock.py")
    assert (one.line, one.excerpt) == (4, "datetime.now()")
    assert f"{tmp_path}/app/prompts.py:3" in one.message
    assert str(tmp_path) not in one.plain_message


def test_classes_and_arguments_of_other_files(tmp_path: Path) -> None:
    builder = """
        class Builder:
            def __init__(self, now, rules):
                self.now, self.rules = now, rules
            def build(self):
                return {"role": "system", "content": f"{self.now} {self.rules}"}
        """
    main = """
        import uuid
        from datetime import datetime
        from app.builder import Builder
        Builder(datetime.now(), "rules").build()
        log(uuid.uuid4())
        """
    (one,) = linted(tmp_path, app__builder=builder, app__main=main)
    assert (Path(one.path).name, one.line) == ("main.py", 5)
    assert f"{tmp_path}/app/builder.py:6" in one.message


def test_what_other_files_have_beside_it_is_not_told(tmp_path: Path) -> None:
    code = "from app.clock import RULES\ndef build_system():\n    return f'{RULES} rules'\n"
    assert linted(tmp_path, app__clock=CLOCK_FILE, app__prompts=code) == []


def test_files_of_the_standard_library_are_not_taken_for_linted_ones(
    tmp_path: Path,
) -> None:
    code = "import random\nask(system=f'{random.stamp()} rules')\n"
    assert linted(tmp_path, random=CLOCK_FILE, prompts=code) == []


def test_the_pragma_holds_in_the_file_of_the_prompt(tmp_path: Path) -> None:
    code = (
        "from app.clock import stamp\ndef build_system():\n"
        "    return f'It is {stamp()}.'  # hitpath: ignore\n"
    )
    assert linted(tmp_path, app__clock=CLOCK_FILE, app__prompts=code) == []


def test_files_that_import_each_other_end(tmp_path: Path) -> None:
    one = "from b import two\ndef one(x):\n    return two(x)\n"
    two = (
        "from datetime import datetime\nfrom a import one\n"
        "def two(x):\n    return one(x) or x\nask(system=one(datetime.now()))\n"
    )
    (found,) = linted(tmp_path, a=one, b=two)
    assert found.excerpt == "datetime.now()"


@pytest.mark.parametrize(
    "code",
    [
        "def f0(x):\n    return x\n"
        + "".join(f"def f{n}(x):\n    return f{n - 1}(x)\n" for n in range(1, 40))
        + "ask(system=f39(datetime.now()))\n",
        "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(20))
        + "def f20(x):\n    return x\nask(system=f0(datetime.now()))\n",
    ],
    ids=["its end first", "its end last"],
)
def test_long_chains_of_calls_are_followed(tmp_path: Path, code: str) -> None:
    assert told(tmp_path, code) == [NOW]


@pytest.mark.parametrize(
    "code",
    [
        "x = {}\n" + "x = {'a': x, 'b': x}\n" * 400 + "ask(system=x)\n",
        "x = []\n" + "x = [x]\n" * 400 + "ask(system=x)\n",
        "def f(x):\n" + "    x = {'a': x['a'], 'b': x['b']}\n" * 60 + "    return x\nask(system=f(y))",  # noqa: E501
        "".join(f"{'    ' * n}for a{n} in a:\n" for n in range(18)) + "    " * 18 + "a = b\n",
        "def f(x):\n    return f(f(x), f)\nask(system=f(f))\n",
        "ask(system=" + "{'system': " * 60 + "1" + "}" * 60 + ")\n",
        "class A(A):\n    x = A()\nask(system=A().x.x.x)\n",
        "class A(B): pass\nclass B(A): pass\nask(system=B().x)\n",
        "if a:\n    b\n" + "elif a:\n    b\n" * 800,
        "T = '{{' * 9000\nask(system=T.format(**x), prompt=T % x)\n",
        "import jinja2\nask(system=jinja2.Template('{{' * 9000 + '{%' * 9000).render(x=1))\n",
        "def f(" + ", ".join(f"a{n}" for n in range(200)) + "):\n    return g("
        + ", ".join(f"a{n}.b.c" for n in range(200)) + ")\nask(system=f(*x, **y))\n",
    ],
    ids=["dag", "nested", "keys", "loops", "itself", "dicts", "own base", "bases in a ring",
         "elif", "braces", "jinja", "many parameters"],
)  # fmt: skip
def test_hostile_source_ends(tmp_path: Path, code: str) -> None:
    assert all(one.rule.kind == "unreadable" for one in linted(tmp_path, prompts=code))
