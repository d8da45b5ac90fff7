"""The command `serve`: options to one call. Defaults of the engine are EngineSettings' own."""

from typing import Annotated

import typer

from hitpath.engine.settings import EngineSettings

ENGINE = EngineSettings()


def serve(
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL_DIR]", help="A Hugging Face model folder on this machine."),
    ] = None,
    tiny: Annotated[
        bool, typer.Option("--tiny", help="A small random model over bytes instead.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="What clients call the model [default: the folder's name].")
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; there is no login.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: a free one.")] = 8000,
    kv_gib: Annotated[float, typer.Option(help="Memory of the KV cache, in GiB.")] = 1.0,
    num_blocks: Annotated[int | None, typer.Option(help="The same in blocks.")] = None,
    block_size: Annotated[int, typer.Option(help="Tokens a block.")] = ENGINE.block_size,
    index: Annotated[str, typer.Option(help="blocks or radix.")] = ENGINE.index,
    eviction: Annotated[str, typer.Option(help="lru, lfu or priority.")] = ENGINE.eviction,
    admission: Annotated[str, typer.Option(help="fcfs or longest_hit.")] = ENGINE.admission,
    attention: Annotated[
        str, typer.Option(help="auto, folded, sdpa, plain or flashinfer.")
    ] = ENGINE.attention,
    dtype: Annotated[
        str | None, typer.Option(help="float32 or bfloat16 [default: the checkpoint's].")
    ] = ENGINE.dtype,
    max_model_len: Annotated[
        int | None, typer.Option(help="Tokens of prompt and output [default: the model's].")
    ] = ENGINE.max_model_len,
    max_batch_tokens: Annotated[
        int, typer.Option(help="Tokens a step; decodes come first.")
    ] = ENGINE.max_batch_tokens,
    max_running: Annotated[int, typer.Option(help="Choices that run.")] = ENGINE.max_running,
    max_waiting: Annotated[
        int, typer.Option(help="Choices that wait; more get 429.")
    ] = ENGINE.max_waiting,
    max_wait_s: Annotated[
        float, typer.Option(help="Whoever waits longer goes first.")
    ] = ENGINE.max_wait_s,
    num_threads: Annotated[int | None, typer.Option(help="Torch's threads.")] = ENGINE.num_threads,
    prefix_cache: Annotated[bool, typer.Option(help="Off: nothing is kept.")] = True,
    chunked_prefill: Annotated[bool, typer.Option(help="Long prompts in chunks.")] = True,
    wait_for_twin: Annotated[
        bool, typer.Option(help="Wait for an equal prefix that is being computed.")
    ] = True,
    cascade: Annotated[bool, typer.Option(help="Read shared blocks once a step.")] = True,
    prepack: Annotated[bool, typer.Option(help="Weights in the CPU library's own layout.")] = True,
    int8_shared: Annotated[
        bool, typer.Option("--int8-shared", help="Idle and shared blocks in int8.")
    ] = False,
    compact_share: Annotated[
        float, typer.Option(help="Part of the KV memory that is int8, with --int8-shared.")
    ] = ENGINE.compact_share,
    device: Annotated[
        str, typer.Option(help="cpu, or cuda, which its makers could not try.")
    ] = ENGINE.device,
    graphs: Annotated[
        str, typer.Option(help="Captured steps of fixed shape: off, cuda or checked.")
    ] = ENGINE.graphs,
    kv_events: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="Publish KV events as vLLM does.")
    ] = None,
    kv_events_replay: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="Send missed ones again.")
    ] = None,
    kv_events_topic: Annotated[str, typer.Option(help="First frame of the events.")] = "",
    drain_s: Annotated[float, typer.Option(help="Seconds to finish in after SIGTERM.")] = 30.0,
    max_body_mib: Annotated[int, typer.Option(help="Larger requests get 413.")] = 16,
) -> None:
    """Run a model behind an OpenAI-compatible API whose every answer tells its hit and its time."""
    from hitpath.serve.job import ServeJob, engine_settings, gib_bytes
    from hitpath.serve.run import run_serve

    engine = engine_settings(
        dtype=dtype,
        prefix_cache=prefix_cache,
        index=index,
        block_size=block_size,
        num_blocks=num_blocks,
        kv_cache_bytes=gib_bytes("--kv-gib", kv_gib),
        max_model_len=max_model_len,
        max_batch_tokens=max_batch_tokens,
        max_running=max_running,
        max_waiting=max_waiting,
        chunked_prefill=chunked_prefill,
        eviction=eviction,
        admission=admission,
        wait_for_twin=wait_for_twin,
        max_wait_s=max_wait_s,
        attention=attention,
        cascade=cascade,
        prepack=prepack,
        int8_shared=int8_shared,
        compact_share=compact_share,
        device=device,
        graphs=graphs,
        num_threads=num_threads,
    )
    run_serve(
        ServeJob(
            model=model,
            tiny=tiny,
            name=name,
            host=host,
            port=port,
            engine=engine,
            kv_events=kv_events,
            kv_events_replay=kv_events_replay,
            kv_events_topic=kv_events_topic,
            drain_s=drain_s,
            max_body_mib=max_body_mib,
        )
    )
