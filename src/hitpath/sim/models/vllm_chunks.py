"""vLLM with state layers where steps have no times: prompts in the chunks that a step without a
bound on tokens would cut (`vllm_steps` rule 3), so that a state is kept where a step would keep it.
"""

from collections.abc import Sequence
from itertools import pairwise

from hitpath.sim.models.contract import Hit, Request
from hitpath.sim.models.vllm import VllmModel


class VllmInChunks(VllmModel):
    """A prompt that is admitted whole is computed chunk by chunk, each as a step of its own."""

    def admit(
        self, request: Request, num_new: int | None = None, *, alone: bool = True
    ) -> Hit | None:
        """As VllmModel's; None, with nothing taken, also where a later chunk finds no room."""
        if num_new is not None:
            return super().admit(request, num_new, alone=alone)
        hit, junction = self.tried(request)
        length = len(self._sequence(request).tokens)
        ends = [hit.tokens, *self._stops(hit.tokens, junction, length), length]
        found = super().admit(request, ends[1] - ends[0], alone=alone)
        if found is None:
            return None
        for start, end in pairwise(ends[1:]):
            self.processed(request.number)
            self.new_step()
            if not self.extend(request.number, end - start):
                self.preempt(request.number)
                self.forget(request.number)
                return None
        return found

    def _stops(self, start: int, junction: int, length: int) -> Sequence[int]:
        """Where chunks end between what was hit and the prompt's end: at the block's edge where a
        prefix was seen to be shared, and at the last one that a resend can hit."""
        block, drops = self.settings.alignment, self.settings.drops_last_block
        resend = length - (self.rules.tail_before_last and not drops)
        last = resend // block * block - drops * block
        shared = start + (junction - start) // block * block
        return sorted({stop for stop in (shared, last) if start < stop < length})
