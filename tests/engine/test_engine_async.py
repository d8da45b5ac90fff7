"""The engine in its thread: streams, leaving early, errors, draining, failing."""

import asyncio

import pytest
from engine_support import GREEDY, prompt_tokens, run, small_engine, tokens_of

from hitpath.engine.async_engine import AsyncEngine
from hitpath.engine.errors import ContextTooLong, EngineFailed, EngineStopped, RequestError
from hitpath.engine.records import GenerationRequest, SamplingParams, token_array

LONG = SamplingParams(max_tokens=300, temperature=0, ignore_eos=True)


def request(name, params=GREEDY, length=20, **fields):
    return GenerationRequest(name, token_array(prompt_tokens(length)), params, **fields)


async def read(served, one):
    return [chunk async for chunk in served.stream(one)]


async def until_idle(served):
    for _ in range(1000):
        stats = await served.stats()
        if not stats.num_running and not stats.num_waiting:
            return stats
        await asyncio.sleep(0.001)
    raise AssertionError("the engine does not come to rest")


def test_streams_side_by_side_are_what_generate_says():
    expected = tokens_of(run(small_engine(), [prompt_tokens(20), prompt_tokens(33)]))

    async def main():
        async with AsyncEngine(small_engine()) as served:
            return await asyncio.gather(
                read(served, request("a")), read(served, request("b", length=33))
            )

    told = asyncio.run(main())
    assert [sum((chunk.token_ids for chunk in chunks), ()) for chunks in told] == expected
    assert all(chunks[-1].finish.reason == "length" for chunks in told)


def test_choices_come_in_one_stream():
    async def main():
        async with AsyncEngine(small_engine()) as served:
            params = SamplingParams(max_tokens=3, seed=1, n=3)
            return await read(served, request("a", params))

    chunks = asyncio.run(main())
    assert sorted(chunk.choice for chunk in chunks if chunk.finish) == [0, 1, 2]


@pytest.mark.parametrize("how", ["break", "cancel", "abort", "close twice"])
def test_leaving_early_frees_the_blocks(how):
    async def main():
        engine = small_engine()
        async with AsyncEngine(engine) as served:
            stream = await served.open(request("a", LONG))
            first = await anext(stream)
            assert first.finish is None
            if how == "break":
                async with stream:
                    pass
            elif how == "cancel":
                task = asyncio.create_task(read_rest(stream))
                await asyncio.sleep(0.005)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            elif how == "abort":
                assert await served.abort("a")
                rest = [chunk async for chunk in stream]
                assert rest[-1].finish.reason == "abort"
                assert not await served.abort("a")
            else:
                stream.close()
                stream.close()
                assert [chunk async for chunk in stream] == []
            stats = await until_idle(served)
            assert stats.used_blocks == 0
            assert stats.output_tokens < 300
            # The name is free again, and the engine goes on.
            assert (await read(served, request("a")))[-1].finish.reason == "length"
        engine.check()

    async def read_rest(stream):
        async with stream:
            return [chunk async for chunk in stream]

    asyncio.run(main())


def test_what_is_refused_is_raised_before_the_first_chunk():
    async def main():
        async with AsyncEngine(small_engine(max_model_len=64)) as served:
            with pytest.raises(ContextTooLong):
                await served.open(request("a", length=64))
            stream = await served.open(request("a", SamplingParams(max_tokens=40, temperature=0)))
            with pytest.raises(RequestError, match="runs already"):
                await served.open(request("a"))
            assert (await anext(stream)).request_id == "a", "the first one is not disturbed"
            stream.close()

    asyncio.run(main())


def test_draining_lets_requests_end_and_takes_no_more():
    async def main():
        served = AsyncEngine(small_engine())
        await served.start()
        stream = await served.open(request("a"))
        stopping = asyncio.create_task(served.stop(drain=True))
        await asyncio.sleep(0)
        with pytest.raises(EngineStopped):
            await served.open(request("b"))
        chunks = [chunk async for chunk in stream]
        await stopping
        assert chunks[-1].finish.reason == "length"
        assert not served._thread.is_alive()

    asyncio.run(main())


@pytest.mark.parametrize("drain", [True, False])
def test_stopping_aborts_what_is_not_done_in_time(drain):
    async def main():
        engine = small_engine()
        served = AsyncEngine(engine)
        await served.start()
        stream = await served.open(request("a", LONG))
        await served.stop(drain=drain, timeout_s=0.01)
        chunks = [chunk async for chunk in stream]
        assert chunks[-1].finish.reason == "abort"
        assert engine.stats().used_blocks == 0

    asyncio.run(main())


def test_a_step_that_fails_reaches_every_stream_and_every_later_call():
    async def main():
        engine = small_engine()
        served = AsyncEngine(engine)
        await served.start()

        def broken():
            raise ValueError("no more memory")

        engine.step = broken
        streams = [asyncio.create_task(read(served, request(name))) for name in "ab"]
        for told in await asyncio.gather(*streams, return_exceptions=True):
            assert isinstance(told, EngineFailed)
            assert str(told) == "the engine failed: ValueError: no more memory"
        with pytest.raises(EngineFailed):
            await served.open(request("c"))
        with pytest.raises(EngineFailed):
            await served.stats()
        await served.stop()
        assert not served._thread.is_alive()

    asyncio.run(main())


def test_the_cache_is_reachable_while_it_runs():
    async def main():
        async with AsyncEngine(small_engine()) as served:
            await read(served, request("a", length=40))
            assert (await served.resident())[0].num_tokens == 48
            assert await served.clear_cache() == 48
            assert await served.resident() == []
            chunks = await read(served, request("b", length=40))
            assert chunks[-1].finish.usage.cached_tokens == 0

    asyncio.run(main())
