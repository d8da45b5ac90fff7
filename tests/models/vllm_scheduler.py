"""vLLM's own Scheduler on top of its manager: see vllm_oracle.py for how it is loaded."""

from types import SimpleNamespace
from unittest.mock import MagicMock

from models.vllm_oracle import Off


class RealScheduler:
    """Its Scheduler with the settings of the model's (`VllmSettings`, `StepSettings`)."""

    def __init__(self, vllm, settings, steps):
        import vllm.v1.core.sched.scheduler as scheduler

        self._vllm, self._settings = vllm, settings
        self._arrivals = 0
        mamba = any(group.kind == "state" for group in settings.groups)
        config = Off(
            ec_manager_config=MagicMock(get_encoder_cache_manager_obj=MagicMock(return_value=None)),
            aux_output_config=Off(),
            scheduler_config=Off(
                max_num_seqs=steps.max_running,
                max_num_batched_tokens=steps.max_tokens,
                long_prefill_token_threshold=steps.long_prefill_tokens,
                policy=steps.policy,
                watermark=settings.watermark_frac,
                scheduler_reserve_full_isl=settings.reserves_whole_prompt,
                enable_chunked_prefill=True,
            ),
            observability_config=Off(per_request_spec_decode_metrics="none"),
            model_config=Off(max_model_len=settings.max_model_tokens, runner_type="generate"),
            cache_config=Off(
                num_gpu_blocks=settings.num_blocks,
                enable_prefix_caching=True,
                mamba_cache_mode="align" if mamba else "none",
                block_size=settings.alignment,
            ),
            parallel_config=Off(
                data_parallel_index=0,
                data_parallel_rank=0,
                decode_context_parallel_size=1,
                prefill_context_parallel_size=1,
                pipeline_parallel_size=1,
            ),
            num_speculative_tokens=0,
            num_lookahead_tokens=0,
            num_prefill_lookahead_tokens=0,
            max_in_flight_tokens=steps.max_tokens,
            max_concurrent_batches=1,
        )
        grammar = MagicMock(
            accept_tokens=MagicMock(return_value=True),
            should_advance=MagicMock(return_value=False),
        )
        extra = {}
        if settings.hash_size != settings.alignment:
            extra["hash_block_size"] = settings.hash_size
        self.scheduler = scheduler.Scheduler(
            config, vllm.config(settings), grammar, settings.alignment, log_stats=True, **extra
        )
        self.manager = self.scheduler.kv_cache_manager

    def submit(self, request, max_output, priority=0):
        made = self._vllm.make_request(str(request.number), request, self._settings.hash_size)
        made.max_tokens = max_output
        made.priority = priority
        made.arrival_time = self._arrivals
        self._arrivals += 1
        self.scheduler.add_request(made)

    def schedule(self):
        return self.scheduler.schedule()

    def update(self, output, sampled):
        """Returns the numbers of the requests that finished."""
        names = list(output.num_scheduled_tokens)
        before = set(self.scheduler.requests)
        result = SimpleNamespace(
            sampled_token_ids=[list(sampled.get(int(name), [])) for name in names],
            logprobs=None,
            prompt_logprobs_dict={},
            prompt_token_id_logprobs_dict={},
            pooler_output=[],
            num_nans_in_logits=None,
            kv_connector_output=None,
            ec_connector_output=None,
            cudagraph_stats=None,
            aux_output_connector_output=None,
            sampling_masks=None,
            routed_experts=None,
            req_ids=names,
            req_id_to_index={name: i for i, name in enumerate(names)},
        )
        self.scheduler.update_from_output(output, result)
        return sorted(int(name) for name in before - set(self.scheduler.requests))

    def counters(self):
        """(tokens looked up, tokens hit) since the last call."""
        stats = self.manager.make_prefix_cache_stats()
        return stats.queries, stats.hits

    def running(self):
        return [int(request.request_id) for request in self.scheduler.running]
