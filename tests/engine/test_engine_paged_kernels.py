"""FlashInfer's kernels behind the engine's attention: arguments and results, with a stand-in.

The stand-in has the two wrappers of flashinfer-python 0.7.4 as far as the engine uses them. It
holds what it is given to their documentation, and computes the plain formula from the tables.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from engine_support import prompt_tokens, run, small_engine, tokens_of
from test_engine_attention import CASES

from hitpath.core import SettingError
from hitpath.engine import model, paged_kernels
from hitpath.engine.attention import LayerKind, OneByOne
from hitpath.engine.batch import Batch, Span, SpanGroup
from hitpath.engine.folded import Folded
from hitpath.engine.kv_tensors import KVShape, KVTensors, Slots
from hitpath.engine.paged_kernels import PagedKernels
from hitpath.engine.records import SamplingParams
from hitpath.engine.settings import EngineSettings

MADE: list["Wrapper"] = []


class Wrapper:
    """What both have in common: `plan` keeps the tables, `run` attends."""

    def __init__(self, float_workspace_buffer, kv_layout="NHD", backend="auto"):
        assert float_workspace_buffer.dtype == torch.uint8
        assert float_workspace_buffer.data_ptr() % 16 == 0
        assert not float_workspace_buffer.any(), "must be zeros when first used"
        assert (kv_layout, backend) == ("HND", "fa2")
        self.workspace = float_workspace_buffer
        self.num_plans = 0
        MADE.append(self)

    def planned(
        self,
        qo_indptr,
        indptr,
        indices,
        last_page_len,
        num_qo_heads,
        num_kv_heads,
        head_dim,
        page_size,
        sm_scale=None,
        window_left=-1,
        logits_soft_cap=None,
        q_data_type="float16",
        kv_data_type=None,
    ):
        for table in (qo_indptr, indptr, indices, last_page_len):
            assert table.dtype == torch.int32
            assert table.is_contiguous()
        assert len(qo_indptr) == len(indptr) == len(last_page_len) + 1
        assert len(indices) == indptr[-1]
        assert qo_indptr[0] == indptr[0] == 0
        assert (qo_indptr.diff() >= 1).all()
        assert (indptr.diff() >= 1).all()
        assert ((last_page_len >= 1) & (last_page_len <= page_size)).all()
        assert num_qo_heads % num_kv_heads == 0
        assert sm_scale is not None, "its own default would scale again"
        self.rows, self.indptr, self.indices, self.last = (
            each.tolist() for each in (qo_indptr, indptr, indices, last_page_len)
        )
        self.heads = num_qo_heads, num_kv_heads, head_dim, page_size
        self.scale, self.window, self.cap = sm_scale, window_left, logits_soft_cap or 0.0
        self.types = q_data_type, kv_data_type or q_data_type
        self.num_plans += 1

    def run(self, q, paged_kv_cache):
        keys, values = paged_kv_cache
        num_heads, num_kv_heads, dim, size = self.heads
        assert (q.dtype, keys.dtype) == self.types
        assert q.shape == (self.rows[-1], num_heads, dim)
        assert q.is_contiguous()
        for cache in (keys, values):
            assert cache.shape[1:] == (num_kv_heads, size, dim)
            assert cache.stride(-1) == 1
            assert cache.stride() == keys.stride()
            assert max(cache.stride()) < 1 << 32
        out = torch.empty_like(q)
        for i, last in enumerate(self.last):
            pages = self.indices[self.indptr[i] : self.indptr[i + 1]]
            length = (len(pages) - 1) * size + last
            of_request = [
                cache[pages].transpose(0, 1).flatten(1, 2)[:, :length] for cache in (keys, values)
            ]
            rows = slice(self.rows[i], self.rows[i + 1])
            out[rows] = self.attended(q[rows], *of_request)
        return out

    def attended(self, q, keys, values):
        num_new, length = len(q), keys.shape[1]
        group = q.shape[1] // len(keys)
        keys, values = (each.repeat_interleave(group, 0) for each in (keys, values))
        scores = self.scale * torch.einsum("qhd,hkd->hqk", q.float(), keys.float())
        if self.cap > 0:
            scores = self.cap * torch.tanh(scores / self.cap)
        row = torch.arange(length - num_new, length).unsqueeze(1)
        column = torch.arange(length)
        seen = column <= row if self.causal else torch.ones(num_new, length, dtype=torch.bool)
        if self.window >= 0:
            seen = seen & (column >= row - self.window)
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        return torch.einsum("hqk,hkd->qhd", weights, values.float()).to(q.dtype)


class BatchPrefillWithPagedKVCacheWrapper(Wrapper):
    def plan(self, *tables_and_sizes, causal=False, **options):
        self.causal = causal
        self.planned(*tables_and_sizes, **options)


class BatchDecodeWithPagedKVCacheWrapper(Wrapper):
    def __init__(self, workspace, kv_layout="NHD", use_tensor_cores=False, backend="auto"):
        super().__init__(workspace, kv_layout, backend)
        assert use_tensor_cores, "groups of 6 heads have no other kernel"
        self.causal = True

    def plan(self, indptr, *rest, **options):
        self.planned(torch.arange(len(indptr), dtype=torch.int32), indptr, *rest, **options)


FAKE = SimpleNamespace(
    BatchPrefillWithPagedKVCacheWrapper=BatchPrefillWithPagedKVCacheWrapper,
    BatchDecodeWithPagedKVCacheWrapper=BatchDecodeWithPagedKVCacheWrapper,
)


@pytest.fixture(autouse=True)
def _small_workspace(monkeypatch):
    monkeypatch.setattr(paged_kernels, "WORKSPACE_BYTES", 1024)
    MADE.clear()


def step(case, num_kv_heads, dtype=torch.float32, device="cpu", head_dim=8, num_compact=0):
    """A cache with random content, and the batch of a case of test_engine_attention.py."""
    generator = torch.Generator().manual_seed(1)
    shape = KVShape(2, num_kv_heads, head_dim, 60, 16, num_compact)
    kv = KVTensors(shape, dtype, torch.device(device))
    kv._all.copy_(torch.randn(kv._all.shape, generator=generator))
    numbers = torch.randperm(60, generator=generator).tolist()
    groups, row, cached = [], 0, iter(CASES[case][1])
    for shared, widths in CASES[case][0]:
        head = [numbers.pop() for _ in range(shared // 16)]
        spans = []
        for num_new in widths:
            before = shared + next(cached)
            count = -(-(before + num_new) // 16) - len(head)
            blocks = np.array(head + [numbers.pop() for _ in range(count)], dtype=np.int32)
            spans.append(Span(row, num_new, before, blocks))
            row += num_new
        groups.append(SpanGroup(tuple(spans), shared))
    nothing = torch.zeros(row, dtype=torch.int64)
    return kv, Batch(nothing, nothing, Slots(nothing, None), tuple(groups)), row


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("window", [None, 1, 30])
@pytest.mark.parametrize("cap", [None, 2.0])
@pytest.mark.parametrize("heads", [(4, 1), (4, 4), (6, 2)])
def test_its_tables_are_what_the_plain_formula_reads(case, window, cap, heads):
    kv, batch, rows = step(case, heads[1])
    paged = PagedKernels(kv, FAKE, None).plan(batch)
    plain = OneByOne(kv, fused=False).plan(batch)
    for layer in (0, 1):
        queries = torch.randn(rows, heads[0], 8)
        kind = LayerKind(layer, window, cap)
        found = paged.attend(kind, queries)
        torch.testing.assert_close(found, plain.attend(kind, queries), atol=1e-5, rtol=1e-5)
    (wrapper,) = MADE
    assert wrapper.num_plans == 1, "a step is planned once for all layers of a kind"
    decodes = all(span.num_new == 1 for span in batch.spans)
    assert isinstance(wrapper, BatchDecodeWithPagedKVCacheWrapper) == decodes


def test_layers_of_two_kinds_are_planned_apart_in_one_workspace():
    kv, batch, rows = step("all of them", 2)
    owner = PagedKernels(kv, FAKE, None)
    for _ in range(2):
        paged, plain = owner.plan(batch), OneByOne(kv, fused=False).plan(batch)
        for window in (None, 20, None, 20):
            kind, queries = LayerKind(0, window, None), torch.randn(rows, 4, 8)
            torch.testing.assert_close(paged.attend(kind, queries), plain.attend(kind, queries))
    full, narrow = MADE
    assert (full.window, narrow.window) == (-1, 19), "the token itself is not counted"
    assert full.workspace is narrow.workspace
    assert full.num_plans == narrow.num_plans == 2


def test_the_cache_is_read_where_it_stands():
    kv, _, _ = step("a hit alone", 2)
    keys, values = kv.paged(1)
    assert keys.shape == values.shape == (61, 2, 16, 8)
    for which, cache in enumerate((keys, values)):
        assert cache.untyped_storage().data_ptr() == kv._all.untyped_storage().data_ptr()
        torch.testing.assert_close(cache[7, 1, 3], kv._all[1, which, 1, 7 * 16 + 3])


def test_int8_blocks_go_another_way():
    kv, batch, rows = step("a hit alone", 2, num_compact=4)
    span = batch.spans[0]
    span.blocks[0] = 60  # the first compact block
    owner = PagedKernels(kv, FAKE, Folded(kv, frozenset()))
    owner.plan(batch).attend(LayerKind(0, None, None), torch.randn(rows, 4, 8))
    assert not MADE


@pytest.fixture
def _on_cuda(monkeypatch):
    """Settings say cuda, tensors stay on the processor; FlashInfer seems to be installed."""
    monkeypatch.setattr(model, "_device", lambda settings: (torch.device("cpu"), torch.no_grad()))
    monkeypatch.setitem(sys.modules, "flashinfer", FAKE)
    monkeypatch.setattr(model, "is_installed", lambda: True)
    monkeypatch.setattr(paged_kernels, "DTYPES", (torch.float32, torch.bfloat16))
    monkeypatch.setattr(paged_kernels, "HEAD_DIMS", (32,))


@pytest.mark.usefixtures("_on_cuda")
def test_an_engine_on_it_says_the_same():
    shared = prompt_tokens(90, seed=1)
    prompts = [shared + prompt_tokens(3 + i, seed=10 + i) for i in range(5)] + [prompt_tokens(7)]
    params = SamplingParams(max_tokens=10, temperature=0, ignore_eos=True)
    said = {}
    for name, settings in {"own": {}, "theirs": {"device": "cuda"}}.items():
        engine = small_engine(**settings)
        said[name] = [tokens_of(run(engine, prompts, params)) for _ in range(2)]
    assert said["own"] == said["theirs"]
    assert {type(wrapper) for wrapper in MADE} == {
        BatchPrefillWithPagedKVCacheWrapper,
        BatchDecodeWithPagedKVCacheWrapper,
    }


def attention_of(**settings):
    return type(small_engine(**settings)._model.decoder._attention)


@pytest.mark.usefixtures("_on_cuda")
def test_when_it_is_chosen(monkeypatch):
    assert attention_of(device="cuda") is PagedKernels
    assert attention_of(device="cuda", attention="flashinfer") is PagedKernels
    assert attention_of(device="cuda", attention="folded") is Folded
    assert attention_of(device="cuda", attention="sdpa") is OneByOne
    assert attention_of() is Folded
    monkeypatch.setattr(paged_kernels, "HEAD_DIMS", (64,))
    assert attention_of(device="cuda") is Folded
    with pytest.raises(SettingError, match="flashinfer: has no kernels for heads of 32 elements"):
        small_engine(device="cuda", attention="flashinfer")
    monkeypatch.setattr(paged_kernels, "DTYPES", (torch.bfloat16,))
    with pytest.raises(SettingError, match=r"flashinfer: has no kernels for torch\.float32"):
        small_engine(device="cuda", attention="flashinfer")
    monkeypatch.setattr(model, "is_installed", lambda: False)
    assert attention_of(device="cuda") is Folded
    with pytest.raises(SettingError, match="flashinfer: is not installed"):
        small_engine(device="cuda", attention="flashinfer")


def test_it_needs_a_gpu():
    with pytest.raises(SettingError, match="attention flashinfer: needs device cuda"):
        EngineSettings(attention="flashinfer")


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("window", [None, 30])
@pytest.mark.parametrize("heads", [(4, 1), (6, 2)])
def test_the_real_kernels(case, window, heads, monkeypatch):
    flashinfer = pytest.importorskip("flashinfer")
    monkeypatch.undo()
    with torch.device("cuda"):
        kv, batch, rows = step(case, heads[1], torch.bfloat16, "cuda", 64)
        queries = torch.randn(rows, heads[0], 64, dtype=torch.bfloat16) / 8
        kind = LayerKind(1, window, None)
        found = PagedKernels(kv, flashinfer, None).plan(batch).attend(kind, queries)
        plain = OneByOne(kv, fused=False).plan(batch).attend(kind, queries)
    torch.testing.assert_close(found, plain, atol=2e-2, rtol=2e-2)
