"""Captured steps: the same tokens, static buffers, buckets, padding that disturbs nobody."""

import pytest
import torch
from engine_support import prompt_tokens, run, saved_model, small_engine, tokens_of

from hitpath.core import SettingError
from hitpath.engine.capture import CaptureError, CheckedCapture
from hitpath.engine.graphs import Bucket, bucket_of
from hitpath.engine.load import load_engine, tiny_engine
from hitpath.engine.records import GenerationRequest, SamplingParams, token_array
from hitpath.engine.settings import EngineSettings

SHARED = prompt_tokens(90, seed=1)
PROMPTS = [SHARED + prompt_tokens(3 + i, seed=10 + i) for i in range(5)] + [prompt_tokens(7)]
PARAMS = SamplingParams(max_tokens=10, temperature=0, ignore_eos=True)


@pytest.mark.parametrize("block_size", [4, 16])
def test_replayed_steps_say_the_same(block_size):
    plain, captured = (
        small_engine(graphs=graphs, block_size=block_size, num_blocks=1600 // block_size)
        for graphs in ("off", "checked")
    )
    for _ in range(2):
        assert tokens_of(run(captured, PROMPTS, PARAMS)) == tokens_of(run(plain, PROMPTS, PARAMS))
    steps = captured._model.captured
    assert steps.num_replays > len(steps._known), "buckets are used again"
    buckets = set(steps._known)
    assert all(size & (size - 1) == 0 for b in buckets for size in (b.num_sequences, b.num_new))
    assert {bucket.num_new for bucket in buckets} > {1}, "short hits are captured, too"


@pytest.mark.parametrize("case", ["mistral window", "gemma2"])
def test_windows_and_caps_are_masked_in_padded_tables(case, tmp_path):
    saved_model(case, tmp_path)
    prompts = [prompt_tokens(40, seed=i) for i in range(3)]
    said = [
        tokens_of(
            run(
                load_engine(
                    str(tmp_path), EngineSettings(num_blocks=64, max_model_len=128, graphs=graphs)
                ),
                prompts * 2,
                PARAMS,
            )
        )
        for graphs in ("off", "checked")
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "settings",
    [{"graphs": "checked"}, {}, {"cascade": False}, {"attention": "sdpa"}, {"int8_shared": True}],
    ids=str,
)
def test_memory_that_nobody_wrote_is_never_read(settings, monkeypatch):
    prompts = [prompt_tokens(40, seed=i) for i in range(3)] * 2
    expected = tokens_of(run(small_engine(**settings), prompts, PARAMS))
    empty = torch.empty

    def with_nan(*shape, **options):
        made = empty(*shape, **options)
        return made.fill_(float("nan")) if made.is_floating_point() else made.fill_(77)

    monkeypatch.setattr(torch, "empty", with_nan)
    assert tokens_of(run(small_engine(**settings), prompts, PARAMS)) == expected


def test_padding_writes_where_the_pool_has_no_block():
    engine = small_engine(graphs="checked")
    kv, pool = engine._model.kv, engine.cache.pool
    for i in range(3):
        engine.submit(GenerationRequest(str(i), token_array(PROMPTS[i]), PARAMS))
    while engine.stats().num_waiting or engine._model.captured.num_replays < 3:
        engine.step()
    kv._all[:, :, :, : pool.num_blocks * 16].fill_(99.0)
    engine.step()
    assert Bucket(4, 1, 8) in engine._model.captured._known, "three sequences were padded to four"
    written = (kv._all[:, :, :, : pool.num_blocks * 16] != 99.0).any(-1)[0, 0, 0]
    assert int(written.sum()) == 3, "one slot for each sequence, none for the padding"
    assert kv.padding_block == pool.num_blocks


def test_what_is_too_wide_is_not_captured():
    engine = small_engine(graphs="checked", prefix_cache=False)
    run(engine, [SHARED], SamplingParams(max_tokens=1, temperature=0))
    assert engine._model.captured.num_replays == 0


def test_buckets_are_powers_of_two():
    class FakeSpan:
        def __init__(self, num_new, num_context):
            self.num_new = num_new
            self.num_context = num_context

    assert bucket_of([FakeSpan(1, 33)] * 3, 16) == Bucket(4, 1, 4)
    assert bucket_of([FakeSpan(1, 16), FakeSpan(9, 100)], 16) == Bucket(2, 16, 8)
    assert bucket_of([FakeSpan(17, 17)], 16) is None
    assert bucket_of([FakeSpan(1, 17)] * 65, 16) is None


class TestCheckedCapture:
    """The fake backend finds what a real graph would get wrong."""

    def setup_method(self):
        self.buffers = {"x": torch.ones(4)}
        self.extra = False

    def body(self):
        out = self.buffers["x"] * 2
        return out + 1 if self.extra else out

    def test_it_replays_on_new_content(self):
        captured = CheckedCapture().capture(self.body, self.buffers)
        self.buffers["x"].fill_(3)
        assert captured.replay().tolist() == [6.0] * 4

    def test_a_buffer_that_moved(self):
        captured = CheckedCapture().capture(self.body, self.buffers)
        self.buffers["x"] = torch.ones(4)
        with pytest.raises(CaptureError, match="not where it was captured"):
            captured.replay()

    def test_an_operator_more(self):
        captured = CheckedCapture().capture(self.body, self.buffers)
        self.extra = True
        with pytest.raises(CaptureError, match="operator 1 is not the one"):
            captured.replay()

    def test_another_shape(self):
        size = [2]
        captured = CheckedCapture().capture(lambda: self.buffers["x"][: size[0]] * 2, self.buffers)
        size[0] = 3
        with pytest.raises(CaptureError, match="operator 0 is not the one"):
            captured.replay()

    def test_a_value_read_out(self):
        with pytest.raises(CaptureError, match="cannot wait"):
            CheckedCapture().capture(lambda: torch.ones(int(self.buffers["x"][0])), self.buffers)


def test_what_needs_a_gpu_says_so():
    with pytest.raises(SettingError, match="graphs cuda: needs device cuda"):
        EngineSettings(graphs="cuda")
    if not torch.cuda.is_available():
        with pytest.raises(SettingError, match="device cuda: torch sees no CUDA device"):
            tiny_engine(EngineSettings(device="cuda"))


@pytest.mark.gpu
@pytest.mark.parametrize("graphs", ["off", "cuda"])
def test_tokens_on_a_gpu_are_those_of_the_cpu(graphs):
    expected = tokens_of(run(small_engine(), PROMPTS, PARAMS))
    engine = small_engine(device="cuda", graphs=graphs)
    for _ in range(2):
        assert tokens_of(run(engine, PROMPTS, PARAMS)) == expected
