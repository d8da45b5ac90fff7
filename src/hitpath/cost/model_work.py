"""What one step of a whole model does and moves, part by part.

A step runs `new` tokens of each of `batch` sequences behind `cached` ones. Weights are read once a
step whatever its tokens: of the experts those that the tokens are expected to be sent to
(parameters.touched_expert_share). All counts are over all GPUs of the replica together.
"""

import math
from dataclasses import dataclass, replace

from hitpath.core import SettingError
from hitpath.cost.attention import LatentForm
from hitpath.cost.attention_work import MixerWork, mixer_work
from hitpath.cost.formats import Formats
from hitpath.cost.matrices import (
    Widths,
    always_widths,
    mixer_widths,
    routed_widths,
    sum_of,
)
from hitpath.cost.parameters import (
    active_linear_parameters,
    head_parameters,
    linear_parameters,
)
from hitpath.cost.roofline import Amount, Ops, Work
from hitpath.cost.shapes import (
    Experts,
    FullAttention,
    LatentAttention,
    LayerGroup,
    ModelShape,
    SlidingAttention,
)


@dataclass(frozen=True, slots=True)
class LinearWork:
    """Products that every token runs through."""

    parameters: int
    weight_bytes: float
    other_bytes_per_token: float

    def step(self, tokens: Amount, ops: Ops) -> Work:
        """So many tokens at once."""
        return Work(
            flops=2 * self.parameters * tokens,
            weight_bytes=self.weight_bytes,
            other_bytes=self.other_bytes_per_token * tokens,
        )


@dataclass(frozen=True, slots=True)
class ExpertsWork:
    """The experts of a group of layers. `log_missed`: logarithm of the chance that one token is
    not sent to an expert."""

    parameters_per_token: int
    weight_bytes: float
    other_bytes_per_token: float
    log_missed: float

    def step(self, tokens: Amount, ops: Ops) -> Work:
        """So many tokens at once."""
        touched = -ops.expm1(tokens * self.log_missed)
        return Work(
            flops=2 * self.parameters_per_token * tokens,
            weight_bytes=self.weight_bytes * touched,
            other_bytes=self.other_bytes_per_token * tokens,
        )


@dataclass(frozen=True, slots=True)
class ModelWork:
    """All parts of a step. `linear`: kernels that run one after the other; `attention`: (layers,
    one layer) by kind; `reduced_bytes_per_token`: what the all-reduces of a token sum, 0 on one
    GPU."""

    linear: tuple[LinearWork | ExpertsWork, ...]
    attention: tuple[tuple[int, MixerWork], ...]
    head: LinearWork
    reduced_bytes_per_token: float
    num_gpus: int

    def linear_step(self, tokens: Amount, ops: Ops) -> list[Work]:
        """Of the linear layers of all blocks: those of every token, then the experts."""
        return [kernel.step(tokens, ops) for kernel in self.linear]

    def held_bytes(self, tokens: int) -> float:
        """KV and states of a prefix of so many tokens, with the copies that several GPUs keep."""
        return sum(layers * kernel.held_bytes(tokens) for layers, kernel in self.attention)

    def sent_bytes(self, tokens: Amount) -> Amount:
        """What each GPU sends in the all-reduces of a step: 2 (n - 1) / n of what they sum, as a
        ring does (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009)."""
        share = 2 * (self.num_gpus - 1) / self.num_gpus
        return share * self.reduced_bytes_per_token * tokens


def model_work(
    shape: ModelShape,
    formats: Formats,
    num_gpus: int = 1,
    latent_form: LatentForm | None = None,
) -> ModelWork:
    """The work of a model divided between so many GPUs (tensor parallel).

    Raises SettingError where its heads cannot be divided so.
    """
    check_divisible(shape, num_gpus)
    always, experts = 0, []
    widths = Widths()
    for group in shape.layers:
        shared, routed = _parameters(shape, group)
        always += shared
        mixers = sum_of(mixer_widths(mixer, shape.d_model) for mixer in group.mixers)
        layer = mixers + always_widths(group.feed_forward, shape.d_model)
        part = group.feed_forward
        if isinstance(part, Experts):
            routed_layer = routed_widths(part, shape.d_model)
            if routed:
                experts.append(_experts(group, part, routed, routed_layer, formats, num_gpus))
            else:
                layer += routed_layer
        widths += layer.times(group.count)
    head = head_parameters(shape)
    return ModelWork(
        linear=(_linear(always, widths, formats, num_gpus), *experts),
        attention=tuple(
            (group.count, mixer_work(mixer, formats, num_gpus, latent_form))
            for group in shape.layers
            for mixer in group.mixers
        ),
        head=_linear(head, Widths(shape.d_model, shape.vocabulary), formats, num_gpus),
        reduced_bytes_per_token=_reduced_elements(shape) * formats.activation_bytes
        if num_gpus > 1
        else 0,
        num_gpus=num_gpus,
    )


def check_divisible(shape: ModelShape, num_gpus: int) -> None:
    """Raise SettingError where the attention heads do not divide between the GPUs, as vLLM does
    (config/model.py, verify_with_parallel_config; get_num_kv_heads keeps at least one a GPU)."""
    option = f"--tp {num_gpus}"
    if not 1 <= num_gpus <= 1024:
        raise SettingError(option, "is not from 1 to 1024")
    for mixer in (mixer for group in shape.layers for mixer in group.mixers):
        heads = mixer.heads if isinstance(mixer, SlidingAttention) else mixer
        if not isinstance(heads, FullAttention | LatentAttention):
            continue
        if heads.num_heads % num_gpus:
            raise SettingError(option, f"{shape.name} has {heads.num_heads} attention heads")
        if isinstance(heads, FullAttention) and not _divides(heads.num_kv_heads, num_gpus):
            raise SettingError(option, f"{shape.name} has {heads.num_kv_heads} KV heads")


def _divides(num_kv_heads: int, num_gpus: int) -> bool:
    return num_kv_heads % num_gpus == 0 or num_gpus % num_kv_heads == 0


def _parameters(shape: ModelShape, group: LayerGroup) -> tuple[int, int]:
    """Linear parameters of all layers of a group: of every token, and of one expert (0 where a
    token is sent to all or there are none)."""
    alone = replace(shape, layers=(group,))
    active, stored = active_linear_parameters(alone), linear_parameters(alone)
    if not isinstance(group.feed_forward, Experts) or active == stored:
        return stored, 0
    experts = group.feed_forward
    one = (stored - active) // (experts.num_experts - experts.top_k)
    return active - experts.top_k * one, one


def _experts(
    group: LayerGroup,
    part: Experts,
    one_expert: int,
    widths: Widths,
    formats: Formats,
    num_gpus: int,
) -> ExpertsWork:
    elements = widths.times(group.count).over(num_gpus)
    return ExpertsWork(
        parameters_per_token=part.top_k * one_expert,
        weight_bytes=part.num_experts * one_expert * formats.weight_bytes,
        other_bytes_per_token=elements * formats.activation_bytes,
        log_missed=math.log1p(-part.top_k / part.num_experts),
    )


def _linear(parameters: int, widths: Widths, formats: Formats, num_gpus: int) -> LinearWork:
    return LinearWork(
        parameters=parameters,
        weight_bytes=parameters * formats.weight_bytes,
        other_bytes_per_token=widths.over(num_gpus) * formats.activation_bytes,
    )


def _reduced_elements(shape: ModelShape) -> int:
    """Elements a token that all-reduces sum: d_model behind the mixers of a layer and d_model
    behind its feed-forward part."""
    reduces = sum(
        group.count * (bool(group.mixers) + (group.feed_forward is not None))
        for group in shape.layers
    )
    return reduces * shape.d_model
