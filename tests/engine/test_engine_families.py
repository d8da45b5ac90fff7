"""Greedy tokens and logits of every family equal those of transformers, in fp32."""

from pathlib import Path

import pytest
import torch
from engine_support import FAMILIES, GREEDY, prompt_tokens, run, saved_model, tokens_of

from hitpath.engine.load import load_engine
from hitpath.engine.records import SamplingParams
from hitpath.engine.settings import EngineSettings

NUM_NEW = 12
LENGTHS = (5, 37, 70)  # below, around and above the windows (20 to 24) and the block of 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def reference(model, prompt):
    """(greedy tokens, smallest margin between the best and the second logit, logits)."""
    model.generation_config.eos_token_id = None  # it goes on, as ours does with ignore_eos
    out = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        max_new_tokens=NUM_NEW,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    logits = torch.cat(out.logits)
    best = logits.topk(2).values
    return out.sequences[0, len(prompt) :].tolist(), float((best[:, 0] - best[:, 1]).min()), logits


@pytest.mark.parametrize("case", FAMILIES)
@pytest.mark.parametrize("attention", ["folded", "plain"])
def test_greedy_tokens_equal_transformers(case, attention, folder):
    path = folder / case.replace(" ", "_")
    model = saved_model(case, path)
    lengths = (70, 75, 90) if case == "phi3 longrope" else LENGTHS
    prompts = [prompt_tokens(length, seed=length) for length in lengths]
    settings = EngineSettings(
        num_blocks=64, attention=attention, max_batch_tokens=64, max_running=8, max_model_len=256
    )
    engine = load_engine(str(path), settings)
    params = SamplingParams(max_tokens=NUM_NEW, temperature=0, ignore_eos=True, logprobs=0)
    cold = run(engine, prompts, params)
    warm = run(engine, prompts, params)
    for prompt, one, again in zip(prompts, cold, warm, strict=True):
        tokens, margin, logits = reference(model, prompt)
        assert margin > 1e-3, "the model is too flat for this test: choose another seed"
        assert list(one.choices[0].token_ids) == tokens
        assert list(again.choices[0].token_ids) == tokens
        assert again.usage.cached_tokens == (len(prompt) - 1) // 16 * 16
        expected = logits.log_softmax(-1)[range(NUM_NEW), tokens]
        for completion in (one, again):
            told = torch.tensor([t.logprob for t in completion.choices[0].logprobs])
            torch.testing.assert_close(told, expected, atol=2e-4, rtol=0)
    assert tokens_of(run(engine, prompts[::-1], GREEDY)) == tokens_of(cold)[::-1]
