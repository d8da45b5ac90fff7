"""Prompts under load: long ones do not hold up the others, templates render one at a time; and
what stands in the log."""

import asyncio
import threading
import time

import pytest
from aiohttp.http_exceptions import BadHttpMessage

from hitpath.serve.log import LoopFaults, web_logger
from hitpath.serve.prompts import LONG, PromptMaker
from hitpath.text.tokenizer import ByteTokenizer


class Watched(ByteTokenizer):
    """Takes its time, and notes who is inside."""

    def __init__(self):
        self.inside = 0
        self.most = 0
        self.threads = set()
        self.go = threading.Event()

    def render_chat(self, messages, tools):
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.threads.add(threading.current_thread() is threading.main_thread())
        time.sleep(0.005)
        self.inside -= 1
        return super().render_chat(messages, tools)

    def encode(self, text):
        if len(text) >= LONG and "wait" in text:
            assert self.go.wait(10), "the loop stands still"
        return super().encode(text)


@pytest.fixture
def maker():
    made = PromptMaker(Watched())
    yield made
    made.close()


def test_templates_render_one_at_a_time(maker):
    tokenizer = maker._tokenizer

    async def many():
        sizes = [10, LONG, 10, LONG, LONG, 10]
        messages = [[{"role": "user", "content": "x" * size}] for size in sizes]
        return await asyncio.gather(*(maker.chat(one, None) for one in messages))

    prompts = asyncio.run(many())
    assert tokenizer.most == 1
    assert tokenizer.threads == {True, False}  # short ones in the loop, long ones beside it
    for prompt in prompts:
        assert bytes(prompt.tokens.tolist()).decode() == prompt.text
        assert prompt.seconds >= 0.005


def test_a_long_text_does_not_hold_up_the_loop(maker):
    async def race():
        long = asyncio.create_task(maker.text("wait".ljust(LONG)))
        short = await maker.text("short")
        await asyncio.sleep(0.01)
        assert not long.done()
        maker._tokenizer.go.set()
        return short, await long

    short, long = asyncio.run(race())
    assert (len(short.tokens), len(long.tokens)) == (5, LONG)
    assert long.seconds >= 0.01  # waiting is part of it


def test_what_the_loop_cannot_place_is_one_line(capfd):
    async def fail():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(LoopFaults())
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)
        for _ in range(1000):
            loop.call_exception_handler({"message": "no more\nfiles"})

    asyncio.run(fail())
    first, second = capfd.readouterr().err.splitlines()
    assert "ZeroDivisionError" in first
    assert second == "hitpath: no more\\nfiles"


def test_what_the_web_library_complains_of(capfd):
    logger = web_logger()
    logger.warning("something\nodd")
    for error in (ConnectionResetError("gone"), BadHttpMessage("bad"), ValueError("ours")):
        try:
            raise error
        except (ConnectionError, BadHttpMessage, ValueError) as caught:
            logger.error("answering", exc_info=caught)
    first, second = capfd.readouterr().err.splitlines()
    assert first == "hitpath: something\\nodd"
    assert second.startswith("hitpath: answering: ValueError: ours")
