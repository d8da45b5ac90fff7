"""docs/serve.md against the program: parameters, metrics, error codes, paths, fields."""

import re
from pathlib import Path
from typing import get_args

import msgspec

from hitpath.serve.app import make_app
from hitpath.serve.metrics import Metrics
from hitpath.serve.parameters import IGNORED, NEUTRAL, ChatBody, CompletionBody, StreamOptions
from hitpath.serve.problems import Code
from hitpath.serve.server import ServerSettings
from serve.asking import asked_of, text_of
from serve.fake import FakeEngine
from serve.running import fake_server

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "serve.md").read_text()


def section(title):
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def names_in(text):
    return set(re.findall(r"`([a-z_]+)`", text))


def test_every_parameter_is_in_its_list():
    used, ignored, neutral = re.split("Accepted and ignored|Accepted only", section("Parameters"))
    neutral = neutral.split("Any other name")[0]
    fields = {f.name for kind in (ChatBody, CompletionBody) for f in msgspec.structs.fields(kind)}
    assert fields <= names_in(used)
    assert names_in(ignored) == IGNORED | {"stream_options", "include_obfuscation"}
    assert names_in(neutral) == set(NEUTRAL)
    assert not fields & (IGNORED | set(NEUTRAL))
    assert not IGNORED & set(NEUTRAL)
    assert set(StreamOptions.__struct_fields__) <= names_in(PAGE) | {"include_usage"}


METRIC = re.compile(r"^\| `(hitpath_\w+)` \| (\w+) \|([^|]*)\| ([^|]+) \|$", re.MULTILINE)


def test_the_table_of_metrics_is_the_registry():
    metrics = Metrics()
    endings = {"counter": "_total", "info": "_info"}
    registered = {
        family.name + endings.get(family.type, ""): family.type
        for family in metrics.registry.collect()
    }
    rows = METRIC.findall(PAGE)
    assert {name: kind for name, kind, _, _ in rows} == registered
    assert all(meaning.strip() for _, _, _, meaning in rows)


def test_the_labels_of_metrics_are_those_of_the_table():
    with fake_server(FakeEngine()) as server:
        assert server.ask("POST", "/v1/completions", {"prompt": "x", "max_tokens": 1})[0] == 200
        server.ask("GET", "/nothing")
        text = server.ask("GET", "/metrics")[1]
    found = {}
    for name, labels in re.findall(r"^(hitpath_\w+?)(?:\{(.*)\})? ", text, re.MULTILINE):
        base = re.sub("_(bucket|sum|count)$", "", name)
        keys = set(re.findall(r'(\w+)="', labels)) - {"le"}
        found.setdefault(base, set()).update(keys)
    for name, kind, labels, _ in METRIC.findall(PAGE):
        if kind == "info":
            continue  # its labels are set when an engine is loaded
        assert found[name] == names_in(labels), name
    assert 'path="other",status="404"' in text


def test_every_error_code_is_in_the_table():
    rows = [line.split("|") for line in section("Errors").splitlines() if line.startswith("| ")]
    assert set().union(*(names_in(row[2]) for row in rows[1:])) == set(get_args(Code))


def test_every_path_is_in_the_table():
    with fake_server(FakeEngine()) as server:
        app = make_app(server.state, ServerSettings().most_body_bytes)
        for route in app.router.routes():
            if route.method != "HEAD":
                path = route.resource.canonical.replace("{name}", "NAME")
                assert re.search(
                    rf"^\|.*`(GET |POST |DELETE )?{re.escape(path)}`", PAGE, re.MULTILINE
                )


def test_every_field_of_an_answer_and_of_the_cache_is_named(client, server):
    answer = client.completions.create(**asked_of(text_of("fields"), 1))
    for name in answer.timings:
        assert f"`timings.{name}`" in PAGE
    cache = server.ask("GET", "/v1/cache")[1]
    told = names_in(section("The cache"))
    assert {*cache, *cache["prefixes"][0]} - {"object"} <= told


def test_the_fields_of_events_are_named():
    from hitpath.serve.kv_events import AllBlocksCleared, BlockRemoved, BlockStored

    told = section("KV events")
    for kind in (BlockStored, BlockRemoved, AllBlocksCleared):
        assert f"`{kind.__name__}`" in told
        assert set(kind.__struct_fields__) <= names_in(told)


def test_the_example_of_the_page_runs(server):
    code = PAGE.split("```python\n")[1].split("```")[0]
    lines = []
    code = code.replace("http://127.0.0.1:8000", server.url)
    names = {"print": lambda *values: lines.append(values)}
    exec(code, names)
    names["client"].close()
    ((cached, prefill_s),) = lines
    assert cached == 0 < prefill_s
