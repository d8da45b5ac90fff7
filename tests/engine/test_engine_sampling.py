"""Sampling against distributions and definitions; text as it streams; stops of every kind."""

import math

import pytest
import torch
from engine_support import GREEDY, prompt_tokens, run, small_engine

from hitpath.engine.records import SamplingParams
from hitpath.engine.sampling import make_generator, sample, token_logprobs
from hitpath.engine.text_out import TextOut
from hitpath.text.tokenizer import ByteTokenizer

LOGITS = torch.tensor([0.0, 1.0, 2.0, 3.0, -1.0, 2.5])


def draws(params, count=4000):
    generator = make_generator(params, 0)
    rows = LOGITS.expand(count, -1)
    return torch.tensor(sample(rows, [params] * count, [generator] * count)).bincount(minlength=6)


def assert_distributed(found, probabilities):
    """Within five standard errors of a binomial; exactly none where the probability is 0."""
    total = int(found.sum())
    for count, p in zip(found.tolist(), probabilities.tolist(), strict=True):
        assert abs(count - total * p) <= 5 * math.sqrt(total * p * (1 - p)), (found, probabilities)


def test_temperature_is_the_softmax_of_scaled_logits():
    for temperature in (0.5, 1.0, 2.0):
        params = SamplingParams(temperature=temperature, seed=1)
        assert_distributed(draws(params), (LOGITS / temperature).softmax(0))


def test_top_k_keeps_the_highest():
    expected = torch.full_like(LOGITS, -torch.inf)
    expected[[3, 5]] = LOGITS[[3, 5]]
    assert_distributed(draws(SamplingParams(top_k=2, seed=2)), expected.softmax(0))
    assert draws(SamplingParams(top_k=1, seed=3)).tolist() == [0, 0, 0, 4000, 0, 0]
    assert_distributed(draws(SamplingParams(top_k=99, seed=4)), LOGITS.softmax(0))


def test_top_p_keeps_the_smallest_set_that_reaches_it():
    ordered = LOGITS.softmax(0).sort(descending=True).values
    for kept in (1, 2, 4):
        p = float(ordered[:kept].sum()) - 1e-3
        least = ordered[kept - 1]
        expected = LOGITS.softmax(0)
        expected = torch.where(expected >= least, expected, 0.0)
        assert_distributed(draws(SamplingParams(top_p=p, seed=5)), expected / expected.sum())


def test_temperature_near_zero_and_equal_logits():
    assert draws(SamplingParams(temperature=1e-6, seed=1)).tolist() == [0, 0, 0, 4000, 0, 0]
    greedy = SamplingParams(temperature=0)
    tied = torch.tensor([[1.0, 5.0, 5.0, 0.0]])
    assert sample(tied, [greedy], [make_generator(greedy, 0)]) == [1]


def test_logprobs_are_of_the_models_own_distribution():
    told = token_logprobs(LOGITS, 2, 3)
    logprobs = LOGITS.log_softmax(0)
    assert told.logprob == pytest.approx(float(logprobs[2]))
    assert told.rank == 3
    assert [token for token, _ in told.top] == [3, 5, 2]
    assert [value for _, value in told.top] == pytest.approx(logprobs[[3, 5, 2]].tolist())
    assert token_logprobs(LOGITS, 2, 0).top == ()


def test_a_seeded_choice_does_not_depend_on_the_batch():
    engine = small_engine()
    prompt = prompt_tokens(40, seed=1)
    params = SamplingParams(max_tokens=8, temperature=1.5, seed=7, ignore_eos=True, n=2)
    alone = run(engine, [prompt], params)[0]
    assert alone.choices[0].token_ids != alone.choices[1].token_ids
    among = run(engine, [prompt_tokens(30, seed=2), prompt, prompt], [GREEDY, params, params])
    for completion in among[1:]:
        assert [c.token_ids for c in completion.choices] == [c.token_ids for c in alone.choices]
    unseeded = SamplingParams(max_tokens=12, temperature=1.5, ignore_eos=True)
    one, other = run(engine, [prompt, prompt], unseeded)
    assert one.choices[0].token_ids != other.choices[0].token_ids


# ---- text


def feed(text, stop=(), prompt=b"", hidden=frozenset()):
    """(pieces as they come, the stop that was met) of the bytes of a text."""
    out = TextOut(ByteTokenizer(), list(prompt), tuple(stop), hidden)
    pieces = []
    for byte in text:
        piece, met = out.feed(byte)
        pieces.append(piece)
        if met is not None:
            return pieces, met
    return [*pieces, out.finish()], None


def test_only_whole_characters_come_out():
    pieces, _ = feed("aé€😀z".encode())
    assert pieces == ["a", "", "é", "", "", "€", "", "", "", "😀", "z", ""]


def test_broken_bytes_come_out_in_the_end():
    pieces, _ = feed(b"a\xe2\x82")
    assert "".join(pieces) == "a\ufffd"
    pieces, _ = feed(b"\xff" * 20 + b"b")
    assert "".join(pieces) == "\ufffd" * 20 + "b"


def test_text_that_may_be_a_stop_is_held_back():
    pieces, met = feed(b"xENxEND", ["END"])
    assert pieces == ["x", "", "", "ENx", "", "", ""]
    assert met == "END"
    pieces, met = feed(b"xEN", ["END"])
    assert (pieces, met) == (["x", "", "", "EN"], None)


def test_the_earliest_stop_wins():
    pieces, met = feed(b"abcd", ["d", "bc"])
    assert ("".join(pieces), met) == ("a", "bc")


@pytest.fixture(scope="module")
def said():
    """What the tiny model says to a prompt, and the engine that says it."""
    engine = small_engine()
    params = SamplingParams(max_tokens=40, temperature=0, ignore_eos=True)
    return engine, run(engine, ["Tell me."], params)[0].choices[0]


def test_a_stop_string_ends_a_choice(said):
    engine, whole = said
    stop = whole.text[10:13]
    params = SamplingParams(max_tokens=40, temperature=0, stop=("never", stop))
    done = run(engine, ["Tell me."], params)[0].choices[0]
    assert done.text == whole.text[: whole.text.index(stop)]
    assert (done.finish.reason, done.finish.stop) == ("stop", stop)
    assert done.finish.usage.output_tokens == len(done.token_ids)
    assert done.token_ids == whole.token_ids[: len(done.token_ids)]


def test_a_stop_token_ends_a_choice_and_has_no_text(said):
    engine, whole = said
    token = whole.token_ids[7]
    params = SamplingParams(max_tokens=40, temperature=0, stop_token_ids=(token,))
    done = run(engine, ["Tell me."], params)[0].choices[0]
    first = whole.token_ids.index(token)
    assert done.token_ids == whole.token_ids[: first + 1]
    assert done.text == whole.text[:first]
    assert (done.finish.reason, done.finish.stop) == ("stop", token)


def test_the_end_token_ends_a_choice_unless_it_is_ignored(said):
    _, whole = said
    engine = small_engine()
    token = whole.token_ids[5]
    first = whole.token_ids.index(token)
    ends = type(engine._model.ends)(frozenset([token]), frozenset([token]))
    object.__setattr__(engine._model, "ends", ends)
    done = run(engine, ["Tell me."], SamplingParams(max_tokens=40, temperature=0))[0].choices[0]
    assert done.token_ids == whole.token_ids[: first + 1]
    assert token not in done.text.encode()
    assert (done.finish.reason, done.finish.stop) == ("stop", None)
    ignoring = SamplingParams(max_tokens=40, temperature=0, ignore_eos=True)
    on = run(engine, ["Tell me."], ignoring)[0].choices[0]
    assert (on.finish.reason, on.token_ids) == ("length", whole.token_ids)


def test_max_tokens_none_fills_the_context():
    engine = small_engine(max_model_len=48)
    params = SamplingParams(max_tokens=None, temperature=0, ignore_eos=True)
    done = run(engine, [prompt_tokens(30)], params)[0].choices[0]
    assert len(done.token_ids) == 18
    assert done.finish.reason == "length"


def test_chunks_put_together_are_the_completion(said):
    engine, whole = said
    params = SamplingParams(max_tokens=40, temperature=0, ignore_eos=True, logprobs=2)
    engine.submit(engine.request_of("Tell me.", params, "a"))
    chunks = []
    while engine.has_work:
        chunks += engine.step()
    assert "".join(chunk.text for chunk in chunks) == whole.text
    assert all(len(chunk.logprobs) == len(chunk.token_ids) == 1 for chunk in chunks)
    assert [chunk.finish is None for chunk in chunks] == [True] * 39 + [False]
