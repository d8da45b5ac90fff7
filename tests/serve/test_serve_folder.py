"""A model folder in Hugging Face's form behind the server, and what `run_serve` says before it."""

import gc
import json
import sys
from pathlib import Path

import pytest
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from hitpath.core import SettingError
from hitpath.engine.async_engine import AsyncEngine
from hitpath.engine.load import load_engine
from hitpath.engine.settings import EngineSettings
from hitpath.engine.tiny import tiny_checkpoint
from hitpath.serve.job import ServeJob, engine_settings, gib_bytes
from hitpath.serve.run import run_serve
from hitpath.serve.state import ModelFacts
from serve.running import Running

SETTINGS = EngineSettings(num_blocks=64, max_model_len=512, num_threads=1)
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 264,
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "eos_token_id": 263,
}
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if messages|length > 3 %}{{ raise_exception('too many turns') }}{% endif %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def tokenizer() -> Tokenizer:
    """Bytes, three merges (" t", "he", " the"), bos and eos; a prompt gets a bos."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he")]
    for a, b in merges:
        vocabulary[a + b] = len(vocabulary)
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    for at in range(len(vocabulary), 262):
        made.add_tokens([f"<unused{at}>"])
    made.add_special_tokens(["<bos>", "<eos>"])
    made.post_processor = processors.TemplateProcessing("<bos> $A", special_tokens=[("<bos>", 262)])
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "small-llama"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    save_file(tiny_checkpoint(0).tensors, str(path / "model.safetensors"))
    tokenizer().save(str(path / "tokenizer.json"))
    config = {"bos_token": "<bos>", "eos_token": "<eos>", "chat_template": TEMPLATE}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


@pytest.fixture(scope="module")
def server(folder):
    engine = load_engine(str(folder), SETTINGS)
    facts = ModelFacts(engine.model_name, engine.max_model_len, 16, 0)
    with Running(lambda: AsyncEngine(engine), engine.tokenizer, facts=facts) as running:
        yield running


def test_prompts_get_the_models_frame_and_template(server):
    text = "of the cache"
    _, told, _ = server.ask("POST", "/tokenize", {"prompt": text, "return_token_strs": True})
    assert told["token_strs"] == ["<bos>", "o", "f", " the", " ", "c", "a", "c", "he"]
    _, bare, _ = server.ask("POST", "/tokenize", {"prompt": text, "add_special_tokens": False})
    assert bare["tokens"] == told["tokens"][1:]
    messages = [{"role": "user", "content": [{"type": "text", "text": "the"}]}]
    _, chat, _ = server.ask("POST", "/tokenize", {"messages": messages})
    assert server.ask("POST", "/detokenize", {"tokens": chat["tokens"]})[1]["prompt"] == (
        "<bos>[user]the[assistant]"
    )
    with server.client() as client:
        answer = client.chat.completions.create(
            model="small-llama", messages=messages, max_tokens=3, logprobs=True, top_logprobs=20
        )
        assert answer.usage.prompt_tokens == chat["count"]
        for one in answer.choices[0].logprobs.content[0].top_logprobs:
            assert (one.bytes is None) == ("\ufffd" in one.token)
        echo = client.completions.create(
            model="small-llama", prompt=text, max_tokens=1, echo=True, logprobs=0
        ).choices[0]
    assert echo.logprobs.tokens[:9] == told["token_strs"]
    assert echo.text.startswith(text)


def test_what_a_template_refuses_is_told(server):
    messages = [{"role": "user", "content": "x"}] * 4
    status, answer, _ = server.ask("POST", "/v1/chat/completions", {"messages": messages})
    assert (status, answer["error"]["param"]) == (400, "messages")
    assert "too many turns" in answer["error"]["message"]
    messages = [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]
    status, answer, _ = server.ask("POST", "/v1/chat/completions", {"messages": messages})
    assert (status, answer["error"]["param"]) == (400, "messages[0].content[0]")


def test_a_model_without_a_template_still_completes(folder, tmp_path):
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).symlink_to(folder / name)
    engine = load_engine(str(tmp_path), SETTINGS)
    with Running(lambda: AsyncEngine(engine), engine.tokenizer) as server:
        body = {"messages": [{"role": "user", "content": "x"}]}
        status, answer, _ = server.ask("POST", "/v1/chat/completions", body)
        assert (status, answer["error"]["param"]) == (400, "messages")
        assert "no chat template; use /v1/completions" in answer["error"]["message"]
        assert server.ask("POST", "/v1/completions", {"prompt": "x"})[0] == 200


HUGE, LARGE, SMALL = (EngineSettings(kv_cache_bytes=number) for number in (1 << 70, 1 << 41, 100))
WRONG = [
    (ServeJob(None), "give a model folder, or --tiny"),
    (ServeJob("folder", tiny=True), "give a model folder, or --tiny"),
    (ServeJob("no/such/folder", port=0), "no such folder"),
    (ServeJob(None, tiny=True, kv_events_replay="tcp://127.0.0.1:0"), "need --kv-events"),
    (ServeJob(None, tiny=True, kv_events_topic="kv"), "need --kv-events"),
    (ServeJob(None, tiny=True, port=0, kv_events="nowhere"), "--kv-events nowhere"),
    (ServeJob(None, tiny=True, port=0, name="\udcff"), "--name: is not UTF-8"),
    (ServeJob(None, tiny=True, port=0, engine=HUGE), "--kv-gib: .*blocks are more than"),
    (ServeJob(None, tiny=True, port=0, engine=LARGE), "--kv-gib: .*has not so much memory"),
    (ServeJob(None, tiny=True, port=0, engine=SMALL), "--kv-gib: holds no block"),
    (ServeJob(None, tiny=True, drain_s=-1), "--drain-s"),
    (ServeJob(None, tiny=True, drain_s=float("nan")), "--drain-s"),
    (ServeJob(None, tiny=True, max_body_mib=0), "--max-body-mib"),
    (ServeJob(None, tiny=True, host="no such host"), "--host no such host"),
    (ServeJob(None, tiny=True, port=70_000), "--port 70000"),
]


@pytest.fixture
def _collector_as_it_was():
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_collector_as_it_was")
@pytest.mark.parametrize(("job", "said"), WRONG, ids=lambda value: str(value)[:60])
def test_what_cannot_be_served_is_said_in_one_line(job, said):
    with pytest.raises(SettingError, match=said) as caught:
        run_serve(job)
    assert "\n" not in str(caught.value)


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "zmq", None)
    with pytest.raises(SettingError, match=r"needs zmq, which is not installed: pip install"):
        run_serve(ServeJob(None, tiny=True, port=0))


def test_a_folder_without_a_tokenizer_cannot_be_served(folder, tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(folder / name)
    with pytest.raises(SettingError, match=r"has no tokenizer\.json"):
        run_serve(ServeJob(str(tmp_path), port=0, engine=SETTINGS))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"block_size": 0}, "--block-size: 0 is less than 1"),
        ({"index": "tree"}, "--index tree: not one of blocks, radix"),
        ({"num_threads": -1}, "--num-threads: -1"),
        ({"kv_cache_bytes": 0}, "--kv-gib: 0"),
        ({"max_wait_s": -1.0}, "--max-waiting, max-wait-s"),
    ],
)
def test_engine_options_are_named_as_they_are_typed(options, said):
    with pytest.raises(SettingError) as caught:
        engine_settings(**options)
    assert str(caught.value).startswith(said)


def test_memory_in_gib():
    assert gib_bytes("--kv-gib", 1.5) == 1_610_612_736
    for amount in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(SettingError, match="--kv-gib"):
            gib_bytes("--kv-gib", amount)
