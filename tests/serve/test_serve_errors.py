"""Whatever is wrong with a request is told in OpenAI's form, by the name that the client used."""

import gzip
import json

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.serve.bodies import decode_body
from hitpath.serve.parameters import ChatBody, CompletionBody, DetokenizeBody, TokenizeBody
from hitpath.serve.problems import Problem
from hitpath.serve.server import ServerSettings
from serve.fake import FakeEngine
from serve.running import fake_server

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
HELLO = [{"role": "user", "content": "hello"}]
DEEP = b'{"prompt": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.fixture(scope="module")
def server():
    settings = ServerSettings(drain_s=5.0, most_body_bytes=1 << 20)
    with fake_server(FakeEngine(), settings=settings) as running:
        yield running


def text(**body):
    return TEXT, {"prompt": "hello", **body}


def chat(**body):
    return CHAT, {"messages": HELLO, **body}


REFUSED = [
    (text(temprature=1), "temprature", "unknown_parameter"),
    (chat(max_output_tokens=1), "max_output_tokens", "unknown_parameter"),
    (chat(top_logprobs=2), "top_logprobs", "invalid_value"),
    (chat(logprobs=True, top_logprobs=21), "top_logprobs", "invalid_value"),
    (chat(logprobs=3), "logprobs", "invalid_type"),
    (text(logprobs=True), "logprobs", "invalid_type"),
    (text(logprobs=-1), "logprobs", "invalid_value"),
    (text(prompt_logprobs=99), "prompt_logprobs", "invalid_value"),
    (text(temperature=-0.1), "temperature", "invalid_value"),
    (text(temperature="hot"), "temperature", "invalid_type"),
    (text(top_p=0), "top_p", "invalid_value"),
    (text(top_p=1.5), "top_p", "invalid_value"),
    (text(top_k=-2), "top_k", "invalid_value"),
    (text(n=0), "n", "invalid_value"),
    (text(n=10**30), "n", "invalid_value"),
    (text(seed=-1), "seed", "invalid_value"),
    (text(seed=2**63), "seed", "invalid_value"),
    (text(stop=""), "stop", "invalid_value"),
    (text(stop=["a"] * 17), "stop", "invalid_value"),
    (text(stop="x" * 257), "stop", "invalid_value"),
    (text(stop=[1]), "stop[0]", "invalid_type"),
    (text(max_tokens=0), "max_tokens", "invalid_value"),
    (text(max_tokens=-5), "max_tokens", "invalid_value"),
    (text(max_tokens=1.5), "max_tokens", "invalid_type"),
    (chat(max_tokens=0), "max_tokens", "invalid_value"),
    (chat(max_completion_tokens=0), "max_completion_tokens", "invalid_value"),
    (chat(max_completion_tokens=3, max_tokens=4), "max_tokens", "invalid_value"),
    (text(max_tokens=5000), "prompt", "context_length_exceeded"),
    (text(prompt="x" * 4096), "prompt", "context_length_exceeded"),
    (
        chat(messages=[{"role": "user", "content": "x" * 5000}]),
        "messages",
        "context_length_exceeded",
    ),
    (text(priority=10**6), "priority", "invalid_value"),
    (text(cache_salt=""), "cache_salt", "invalid_value"),
    (text(stream_options={"include_usage": True}), "stream_options", "invalid_value"),
    (text(stream=True, stream_options={"x": 1}), "stream_options", "invalid_type"),
    (text(best_of=2), "best_of", "unsupported_parameter"),
    (text(frequency_penalty=0.5), "frequency_penalty", "unsupported_parameter"),
    (text(presence_penalty=True), "presence_penalty", "unsupported_parameter"),
    (text(logit_bias={"50": -100}), "logit_bias", "unsupported_parameter"),
    (text(repetition_penalty=True), "repetition_penalty", "unsupported_parameter"),
    (chat(continue_final_message=0), "continue_final_message", "unsupported_parameter"),
    (text(suffix="end"), "suffix", "unsupported_parameter"),
    (chat(response_format={"type": "json_object"}), "response_format", "unsupported_parameter"),
    (chat(tool_choice="required"), "tool_choice", "unsupported_parameter"),
    (chat(reasoning_effort="high"), "reasoning_effort", "unsupported_parameter"),
    (text(echo=True, logprobs=1, stream=True, n=2), "logprobs", "unsupported_parameter"),
    ((TEXT, {}), "prompt", "missing_required_parameter"),
    ((CHAT, {}), "messages", "missing_required_parameter"),
    (text(prompt=None), "prompt", "invalid_type"),
    (text(prompt=""), "prompt", "invalid_value"),
    (text(prompt=[]), "prompt", "invalid_value"),
    (text(prompt=[[]]), "prompt[0]", "invalid_value"),
    (text(prompt=[[1], []]), "prompt[1]", "invalid_value"),
    (text(prompt=[1, "a"]), "prompt", "invalid_type"),
    (text(prompt=[1, True]), "prompt", "invalid_type"),
    (text(prompt=[1.0]), "prompt", "invalid_type"),
    (text(prompt=[-1]), "prompt", "invalid_value"),
    (text(prompt=[2**32]), "prompt", "invalid_value"),
    (text(prompt=[2**70]), "prompt", "invalid_value"),
    (text(prompt=[300]), "prompt", "invalid_value"),
    (text(prompt=["a"] * 5), "prompt", "invalid_value"),
    (chat(messages=[]), "messages", "invalid_value"),
    (chat(messages=["hello"]), "messages[0]", "invalid_type"),
    (chat(messages="hello"), "messages", "invalid_type"),
    (chat(tools=[1]), "tools[0]", "invalid_type"),
    ((CHAT, [1]), None, "invalid_json"),
    ((TEXT, "text"), None, "invalid_json"),
    (("/tokenize", {}), "prompt", "invalid_value"),
    (("/tokenize", {"prompt": "a", "messages": HELLO}), "prompt", "invalid_value"),
    (("/tokenize", {"prompt": "a", "texts": 1}), "texts", "unknown_parameter"),
    (
        ("/tokenize", {"messages": HELLO, "add_special_tokens": True}),
        "add_special_tokens",
        "invalid_value",
    ),
    (("/detokenize", {"tokens": [-1]}), "tokens", "invalid_value"),
    (("/detokenize", {"tokens": ["a"]}), "tokens[0]", "invalid_type"),
    (("/detokenize", {"tokens": [2**31]}), "tokens", "invalid_value"),
]


@pytest.mark.parametrize(("asked", "param", "code"), REFUSED, ids=lambda value: str(value)[:60])
def test_a_refused_request_names_what_is_wrong(server, capfd, asked, param, code):
    status, answer, _ = server.ask("POST", *asked)
    error = answer["error"]
    assert (status, error["param"], error["code"]) == (400, param, code)
    assert error["type"] == "invalid_request_error"
    assert "\n" not in error["message"]
    assert param is None or param.split("[")[0] in error["message"]
    assert capfd.readouterr().err == ""


BROKEN = [
    b"",
    b"{",
    b"nothing",
    b'{"prompt": "a"} {}',
    b'{"prompt": "\xff"}',
    b'{"prompt": "a", "temperature": NaN}',
    b'{"prompt": "a", "temperature": 1e999}',
    b'{"prompt": "a", "temperature": Infinity}',
    b'{"prompt": "a", "min_p": 1e999}',
    b'{"prompt": "\\ud83d"}',
    b'{"prompt": "a\\udc00b"}',
    b'{"prompt": "a", "user": "\\ud83d"}',
    b'{"prompt": "a", "max_tokens": ' + b"9" * 5000 + b"}",
    b"\xef\xbb\xbf{}",
    DEEP,
    b'{"metadata": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b', "prompt": "a"}',
]


@pytest.mark.parametrize("path", [TEXT, CHAT, "/tokenize", "/detokenize"])
@pytest.mark.parametrize("body", BROKEN, ids=lambda body: str(body[:40]))
def test_a_broken_body_is_told(server, capfd, path, body):
    status, answer, _ = server.ask("POST", path, body)
    assert status == 400
    assert answer["error"]["message"]
    assert capfd.readouterr().err == ""


def test_a_lone_surrogate_is_named(server):
    _, answer, _ = server.ask("POST", TEXT, b'{"prompt": "\\ud83d"}')
    assert "surrogate" in answer["error"]["message"]
    status, _, _ = server.ask("POST", TEXT, b'{"prompt": "\\ud83d\\ude00"}')
    assert status == 200


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
KINDS = (ChatBody, CompletionBody, TokenizeBody, DetokenizeBody)
NAMES = sorted({name for kind in KINDS for name in kind.__struct_fields__} | {"logit_bias", "x"})


def status_of(data, kind):
    try:
        decode_body(data, kind)
    except Problem as problem:
        return problem.status
    return 200


@given(st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=5), st.sampled_from(KINDS))
def test_any_json_is_a_body_or_a_problem(value, kind):
    assert status_of(json.dumps(value).encode(), kind) in (200, 400)


@given(st.binary(max_size=40), st.sampled_from(KINDS))
def test_any_bytes_are_a_body_or_a_problem(data, kind):
    assert status_of(data, kind) in (200, 400)


@given(st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=4))
def test_any_values_give_an_answer_or_a_refusal(server, value):
    body = {"prompt": "a", "messages": HELLO, "max_tokens": 1, **value, "stream": False}
    for path, drop in ((TEXT, "messages"), (CHAT, "prompt")):
        sent = {name: one for name, one in body.items() if name != drop}
        assert server.ask("POST", path, sent)[0] in (200, 400, 404)


def test_too_large_a_body(server):
    status, answer, _ = server.ask("POST", TEXT, {"prompt": "x" * (1 << 20)})
    assert (status, answer["error"]["code"]) == (413, "body_too_large")
    packed = gzip.compress(b" " * (64 << 20))  # 64 KB that become 64 MB
    status, answer, _ = server.ask("POST", TEXT, packed, {"Content-Encoding": "gzip"})
    assert (status, answer["error"]["code"]) == (413, "body_too_large")
    connection = server.raw(
        b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    with connection:
        for _ in range(40):
            connection.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        assert connection.recv(64).startswith(b"HTTP/1.1 413")


def test_another_path_method_or_content_type(server):
    status, answer, _ = server.ask("GET", "/v2/completions")
    assert (status, answer["error"]["code"]) == (404, "not_found")
    status, answer, headers = server.ask("GET", CHAT)
    assert (status, answer["error"]["code"]) == (405, "method_not_allowed")
    assert headers["Allow"] == "POST"
    status, answer, _ = server.ask("POST", TEXT, b"{}", {"Content-Type": "text/plain"})
    assert (status, answer["error"]["code"]) == (415, "unsupported_media_type")
    assert server.ask("POST", TEXT, b"{}", {"Expect": "200-ok"})[0] == 417
    for query in ("limit=x", "limit=-1", "limit=", "what=1", "limit=%D9%A3", "limit=9999999"):
        status, answer, _ = server.ask("GET", f"/v1/cache?{query}")
        assert (status, answer["error"]["param"]) == (400, query.split("=")[0])


def test_the_official_client_sees_its_own_errors(server):
    with server.client() as client:
        with pytest.raises(openai.BadRequestError) as caught:
            client.completions.create(model="tiny", prompt="x", extra_body={"min_p": 0.1})
        assert (caught.value.param, caught.value.code) == ("min_p", "unsupported_parameter")
        with pytest.raises(openai.BadRequestError):
            client.completions.create(model="tiny", prompt="x" * 5000, stream=True)
