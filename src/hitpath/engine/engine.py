"""The engine: requests in, tokens out, one step at a time, in the caller's thread.

A step is: plan (scheduler) -> group -> batch -> forward -> sample -> store blocks -> chunks. It
knows no HTTP, sockets or metrics; `observe` gets the records of `events.py`. Not threadsafe:
`async_engine.py` runs one in a thread of its own.
"""

import time
from collections.abc import Callable, Sequence

import torch

from hitpath.engine.batch import Batch, Span, make_batch
from hitpath.engine.cache import PrefixCache, ResidentPrefix, salt_root
from hitpath.engine.collect import Collector
from hitpath.engine.errors import ContextTooLong, Overloaded, RequestError
from hitpath.engine.events import Observe, RequestDone, StepDone, unobserved
from hitpath.engine.grouping import Grouper
from hitpath.engine.model import Model
from hitpath.engine.output import ChoiceOutput, Ended
from hitpath.engine.pool import BlockState
from hitpath.engine.prompts import Prompt, requests_of, tokenise
from hitpath.engine.records import (
    Chunk,
    Completion,
    Finish,
    GenerationRequest,
    SamplingParams,
    TokenLogprobs,
    Tokens,
    token_array,
)
from hitpath.engine.resident import resident_prefixes
from hitpath.engine.sampling import make_generator, sample
from hitpath.engine.scheduler import Scheduler, Work
from hitpath.engine.sequence import Clocks, Phase
from hitpath.engine.sequence import Sequence as Running
from hitpath.engine.settings import EngineSettings
from hitpath.engine.stats import Counters, EngineStats
from hitpath.engine.text_out import TextOut
from hitpath.text.tokenizer import TextTokenizer


class Engine:
    """A model with a prefix cache. `tokenizer` None: token ids only, and no stop strings."""

    def __init__(
        self,
        model: Model,
        tokenizer: TextTokenizer | None,
        settings: EngineSettings,
        observe: Observe = unobserved,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.settings = settings
        self.tokenizer = tokenizer
        self.model_name = model.name
        self.max_model_len = model.max_len
        self._model = model
        self._clock = clock
        self._observe = observe
        self.cache = PrefixCache(model.cache_shape, clock, observe, model.kv.compact_blocks)
        self._scheduler = Scheduler(settings, self.cache, clock, observe)
        self._grouper = Grouper(settings.block_size, settings.cascade)
        self._outputs: dict[tuple[str, int], ChoiceOutput] = {}
        self._requests: dict[str, int] = {}  # choices that still run
        self._pending: list[Chunk] = []
        self._counters = Counters()
        self._next_order = 0

    # ---- requests

    def submit(self, request: GenerationRequest) -> None:
        """Queue a request. Raises RequestError (ContextTooLong) or Overloaded; nothing is queued
        then."""
        params, num_prompt = request.params, len(request.tokens)
        self._check(request)
        if not self._has_room(request):
            waiting = len(self._scheduler.waiting)
            raise Overloaded(waiting, self._counters.expected_wait_s(waiting))
        most = self.max_model_len - num_prompt
        most_output = most if params.max_tokens is None else params.max_tokens
        root = salt_root(request.cache_salt)
        self._requests[request.request_id] = params.n
        for choice in range(params.n):
            sequence = Running(
                request=request,
                choice=choice,
                order=self._next_order,
                most_tokens=num_prompt + most_output,
                clocks=Clocks(self._clock()),
                root=root,
            )
            self._next_order += 1
            self._outputs[sequence.name] = ChoiceOutput(
                sequence=sequence,
                most_output=most_output,
                generator=make_generator(params, choice),
                text=self._text(request),
                ends=self._model.ends,
            )
            self._scheduler.add(sequence)

    def abort(self, request_id: str, tell: bool = True) -> bool:
        """End a request now: its blocks are free when this returns, and its last chunks come with
        the next step, or never without `tell`. False where there is no such request (any more)."""
        names = [name for name in self._outputs if name[0] == request_id]
        for name in names:
            output = self._outputs[name]
            self._scheduler.drop(output.sequence)
            last = self._finish(output, "", (), Ended("abort", None))
            if tell:
                self._pending.append(last)
        return bool(names)

    @property
    def has_work(self) -> bool:
        """Whether a step would do or tell anything."""
        return bool(self._outputs or self._pending)

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        params: SamplingParams | Sequence[SamplingParams] | None = None,
        cache_salt: str | None = None,
    ) -> list[Completion]:
        """Run prompts (text or token ids) to their end; one Completion for each, in order.

        Raises RequestError for the first that cannot be run, before any of them runs, and where
        other requests are under way.
        """
        if self.has_work:
            raise RequestError("generate", "other requests are under way; use submit and step")
        requests = requests_of(self, prompts, params, cache_salt)
        for request in requests:
            self._check(request)
        collector = Collector(requests)
        waiting = requests[::-1]
        while waiting or self.has_work:
            while waiting and self._has_room(waiting[-1]):
                self.submit(waiting.pop())
            collector.add(self.step())
        return collector.completions()

    def request_of(
        self, prompt: Prompt, params: SamplingParams, request_id: str, cache_salt: str | None = None
    ) -> GenerationRequest:
        """A prompt as a request; text is tokenised with the model's frame (bos), and timed."""
        started = self._clock()
        tokens = tokenise(self.tokenizer, prompt)
        taken = self._clock() - started
        return GenerationRequest(request_id, tokens, params, cache_salt, tokenise_s=taken)

    # ---- one step

    def step(self) -> list[Chunk]:
        """One forward pass; what it adds to each choice. [] where there is nothing to do."""
        chunks, self._pending = self._pending, []
        started = self._clock()
        works = self._scheduler.plan()
        if not works:
            return chunks
        num_decodes = sum(work.sequence.phase is Phase.DECODE for work in works)
        groups = self._grouper.group(works, self.cache.tables_version)
        works = [work for group in groups for work in group.works]
        with torch.inference_mode(), self._model.scope:
            batch = make_batch(groups, self._model.kv, self.settings.block_size)
            hidden = self._model.forward(batch)
            tokens, logits = self._sample(works, batch, hidden)
        for work in works:
            work.sequence.num_computed += work.num_new
            self.cache.store(work.sequence)
        now = self._clock()
        ready = [w.sequence for w in works if w.sequence.num_left == 0]
        for sequence, token, row in zip(ready, tokens, logits, strict=True):
            chunks.append(self._advance(sequence, token, row, now))
        self._note_step(works, num_decodes, now - started)
        return chunks

    def _sample(
        self, works: list[Work], batch: Batch, hidden: torch.Tensor
    ) -> tuple[list[int], torch.Tensor]:
        """Tokens and logits of the sequences whose prompt is complete after this step."""
        ready: list[int] = []
        outputs: list[ChoiceOutput] = []
        for work, span in zip(works, batch.spans, strict=True):
            output = self._outputs[work.sequence.name]
            if output.wants_prompt:
                self._take_prompt(output, span, hidden)
            if work.sequence.num_left == work.num_new:
                ready.append(span.row + span.num_new - 1)
                outputs.append(output)
        if not ready:
            return [], hidden[:0]
        logits = self._model.decoder.logits(hidden[ready]).cpu()
        params = [output.params for output in outputs]
        return sample(logits, params, [output.generator for output in outputs]), logits

    def _take_prompt(self, output: ChoiceOutput, span: Span, hidden: torch.Tensor) -> None:
        rows = hidden[span.row : span.row + span.num_new]
        output.take_prompt(self._model.decoder.logits(rows).cpu(), span.num_cached)

    def _advance(self, sequence: Running, token: int, logits: torch.Tensor, now: float) -> Chunk:
        output = self._outputs[sequence.name]
        sequence.append(token)
        sequence.phase = Phase.DECODE
        is_first = sequence.clocks.first_token_s is None
        if is_first:
            sequence.clocks.first_token_s = now
        sequence.clocks.last_token_s = now
        self._counters.output_tokens += 1
        logprobs = output.logprobs(logits, token)
        text, ended = output.take(token)
        if ended is not None:
            self._scheduler.drop(sequence)
            return self._finish(output, text, (token,), ended, logprobs)
        return Chunk(
            *sequence.name, text, (token,), logprobs, self._prompt_logprobs(output, is_first)
        )

    def _finish(
        self,
        output: ChoiceOutput,
        text: str,
        tokens: tuple[int, ...],
        ended: Ended,
        logprobs: tuple[TokenLogprobs, ...] | None = None,
    ) -> Chunk:
        sequence, now = output.sequence, self._clock()
        usage, timings = sequence.usage(), sequence.timings(now)
        del self._outputs[sequence.name]
        request_id, choice = sequence.name
        self._requests[request_id] -= 1
        if not self._requests[request_id]:
            del self._requests[request_id]
            self._counters.note_done(now)
        self._observe(RequestDone(request_id, choice, ended.reason, usage, timings))
        finish = Finish(ended.reason, ended.stop, usage, timings)
        told = self._prompt_logprobs(output, sequence.num_output == 1)
        return Chunk(request_id, choice, text, tokens, logprobs, told, finish)

    # ---- the cache, from outside

    def clear_cache(self) -> int:
        """Forget all cached prefixes, pins too; what runs keeps its KV, and does not store it.
        Returns how many tokens could be found before."""
        return self.cache.clear()

    def pin(self, tokens: Sequence[int] | Tokens, cache_salt: str | None = None) -> tuple[int, int]:
        """Keep what is cached of this prefix until `unpin`: (number of the pin, tokens it keeps).
        Raises RequestError where that would leave less room than one whole context needs."""
        return self.cache.pin(token_array(tokens), cache_salt, self.max_model_len)

    def unpin(self, number: int) -> bool:
        """False where there is no such pin (any more)."""
        return self.cache.unpin(number)

    def resident(self, most: int = 100) -> list[ResidentPrefix]:
        """What is cached, by prefix, the longest first."""
        return resident_prefixes(self.cache, most, self._clock())

    def stats(self) -> EngineStats:
        """Sums since the start, and what stands now."""
        pool, scheduler = self.cache.pool, self._scheduler
        return self._counters.snapshot(
            num_running=len(scheduler.running),
            num_waiting=len(scheduler.waiting),
            preemptions=scheduler.num_preemptions,
            admissions=scheduler.admissions,
            blocks={state: pool.count(state) for state in BlockState},
            pinned_blocks=int((pool.pins > 0).sum()),
            block_size=self.settings.block_size,
            evictions=dict(self.cache.evicted_blocks),
            kv=self._model.kv,
        )

    def check(self) -> None:
        """Conservation over the whole state. Raises AssertionError."""
        scheduler = self._scheduler
        for sequence in scheduler.waiting:
            assert sequence.phase is Phase.WAITING, "a running sequence waits"
            assert not len(sequence.blocks), "a waiting sequence has blocks"
        for sequence in scheduler.running:
            assert sequence.phase in (Phase.PREFILL, Phase.DECODE), "an idle sequence runs"
            assert sequence.num_left >= 1, "nothing left to compute"
        every = [*scheduler.running, *scheduler.waiting]
        assert {sequence.name for sequence in every} == set(self._outputs), "outputs differ"
        self.cache.check(every)

    # ---- within

    def _check(self, request: GenerationRequest) -> None:
        params, num_prompt = request.params, len(request.tokens)
        if request.request_id in self._requests:
            raise RequestError("request_id", f"{request.request_id} runs already")
        largest = int(request.tokens.max())
        if largest >= self._model.vocab_size:
            cause = f"token id {largest} is not below {self._model.vocab_size}"
            raise RequestError("prompt", cause)
        if num_prompt + 1 > self.max_model_len:
            raise ContextTooLong("prompt", num_prompt + 1, self.max_model_len)
        wanted = num_prompt + (params.max_tokens or 1)
        if wanted > self.max_model_len:
            raise ContextTooLong("max_tokens", wanted, self.max_model_len)
        if params.stop and self.tokenizer is None:
            raise RequestError("stop", "this engine has no tokenizer; use stop_token_ids")

    def _has_room(self, request: GenerationRequest) -> bool:
        waiting = len(self._scheduler.waiting)
        return not waiting or waiting + request.params.n <= self.settings.max_waiting

    def _text(self, request: GenerationRequest) -> TextOut | None:
        if self.tokenizer is None:
            return None
        tail = request.tokens[-16:].tolist()
        return TextOut(self.tokenizer, tail, request.params.stop, self._model.ends.hidden)

    def _prompt_logprobs(
        self, output: ChoiceOutput, is_first: bool
    ) -> tuple[TokenLogprobs | None, ...] | None:
        wanted = output.params.prompt_logprobs is not None and output.sequence.choice == 0
        return tuple(output.prompt_logprobs) if wanted and is_first else None

    def _note_step(self, works: list[Work], num_decodes: int, seconds: float) -> None:
        pool, scheduler = self.cache.pool, self._scheduler
        computed = sum(work.num_new for work in works) - num_decodes
        self._counters.steps += 1
        self._counters.computed_tokens += computed
        free, used, cached = (pool.count(state) for state in BlockState)
        self._observe(
            StepDone(
                seconds=seconds,
                num_decodes=num_decodes,
                num_prefill_tokens=computed,
                num_running=len(scheduler.running),
                num_waiting=len(scheduler.waiting),
                free_blocks=free,
                cached_blocks=cached,
                used_blocks=used,
            )
        )
