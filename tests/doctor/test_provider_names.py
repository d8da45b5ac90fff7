"""By whose rules a cache is judged: the name of a model tells it, or does not."""

import pytest

from hitpath.doctor.provider_rules import rule_of

OWN = {
    "openai": ["gpt-4o", "openai/gpt-4o-mini", "azure/gpt-35-turbo", "prod-gpt-4.1", "o1-preview",
               "o3", "openai/o4-mini", "openrouter/openai/gpt-5", "chatgpt-4o-latest",
               "codex-mini-latest", "ft:gpt-4o-2024-08-06:acme::7qTvM5Xy"],
    "anthropic": ["claude-opus-4-5-20251101", "anthropic/claude-3.5-sonnet",
                  "us.anthropic.claude-sonnet-4-20250514-v1:0",
                  "bedrock/us.anthropic.claude-3-haiku-20240307-v1:0",
                  "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4",
                  "vertex_ai/claude-sonnet-4@20250514"],
    "gemini": ["gemini-2.5-pro", "google/gemini-2.5-flash", "models/gemini-2.5-pro",
               "projects/p/locations/l/publishers/google/models/gemini-3-pro"],
    "deepseek": ["deepseek-chat", "deepseek/deepseek-reasoner",
                 "openrouter/deepseek/deepseek-chat-v3-0324"],
}  # fmt: skip
ANYBODY = [
    "openai/gpt-oss-120b", "gpt-oss-20b", "EleutherAI/gpt-j-6b", "gpt2", "openai-community/gpt2",
    "EleutherAI/gpt-neox-20b", "gpt-neo-2.7B", "AIDC-AI/Marco-o1", "nomic-ai/gpt4all-j",
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek-ai/DeepSeek-V3", "azure_ai/DeepSeek-R1",
    "together_ai/deepseek-ai/DeepSeek-V3", "accounts/fireworks/models/deepseek-v3",
    "deepseek-coder-6.7b-instruct", "cerebras/Cerebras-GPT-13B", "google/gemma-3-27b-it",
    "reedmayhew/claude-3.7-sonnet-reasoning-gemma3-12B", "TheBloke/claude2-alpaca-7B-GGUF",
    "teknium/gpt4-x-vicuna-13b", "meta-llama/Llama-3.1-8B", "qwen-o1", "", None,
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "provider"), [(model, name) for name, models in OWN.items() for model in models]
)
def test_a_provider_is_known_by_its_models(model: str, provider: str) -> None:
    rule = rule_of(model)
    assert rule is not None
    assert rule.name == provider


@pytest.mark.parametrize("model", ANYBODY)
def test_weights_that_anybody_hosts_have_no_provider(model: str | None) -> None:
    assert rule_of(model) is None
