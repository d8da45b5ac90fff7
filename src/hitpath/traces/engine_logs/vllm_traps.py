"""What is misread in the statistics lines of vLLM: sentences for just the lines that there are."""

from hitpath.traces.engine_logs.lines import DAY_S
from hitpath.traces.engine_logs.records import Findings, percent
from hitpath.traces.engine_logs.stretches import Stretch, who

_MOST_NAMED = 3


def warn(findings: Findings, stretches: list[Stretch], version: tuple[int, int] | None) -> None:
    """What is misread in just these lines."""
    if not stretches:
        return
    for stretch in stretches[:_MOST_NAMED]:
        _standing_still(findings, stretch)
    if any(stretch.times.went_back for stretch in stretches):
        findings.trap(
            "The times go back again and again: lines of several servers stand mixed, and nothing "
            "tells them apart. Give each server's log in a file of its own"
        )
    longest = max((stretch.times for stretch in stretches), key=lambda t: t.longest_gap_s)
    if longest.longest_gap_s > DAY_S:
        findings.trap(
            f"Between {longest.gap[0]} and {longest.gap[1]} are "
            f"{longest.longest_gap_s / DAY_S:,.1f} days without a statistics line: an idle engine "
            "prints none, or the lines are of different runs"
        )
    if len({who(stretch) for stretch in stretches}) < len(stretches):
        findings.trap(
            "The times go back: the lines are of several runs or servers, and are kept apart"
        )
    v1 = [stretch for stretch in stretches if stretch.version == 1]
    if v1:
        _warn_v1(findings, v1, version)
    for stretch in stretches:
        if stretch.version == 0:
            _warn_v0(findings, stretch)
    used = [stretch.usage for stretch in stretches if stretch.usage is not None]
    if used:
        findings.trap(
            f"KV cache usage ({used[-1].decode()} % last) counts the blocks of running requests: "
            "cached blocks that nobody uses just now count as free, and low usage is no empty cache"
        )


def _standing_still(findings: Findings, stretch: Stretch) -> None:
    if stretch.first is None or stretch.num < 2:
        return
    rate = percent(stretch.first, stretch.decimals)
    idle = (
        f"; on {stretch.num_idle} of them no prompt came (throughput 0.0)"
        if stretch.num_idle
        else ""
    )
    if stretch.same:
        findings.trap(
            f"{rate} on {stretch.num:,} lines is one number seen {stretch.num:,} times{idle}: "
            "the rate moves only when prompts come"
        )
    elif idle:
        findings.trap(
            f"On {stretch.num_idle:,} of {stretch.num:,} lines no prompt came (throughput 0.0): "
            "there the rate stands still"
        )


def _warn_v1(findings: Findings, stretches: list[Stretch], version: tuple[int, int] | None) -> None:
    findings.trap(
        "The rate is that of the last 1,000 requests; of all since the start, or since the cache "
        "was reset, where those are fewer. The line does not tell how many there were"
    )
    if version is None:
        findings.trap(
            "The log does not tell vLLM's version: from 0.9 the rate is weighted by tokens, "
            "before by blocks"
        )
    fast = max(stretch.throughput for stretch in stretches)
    if fast and (version is None or version < (0, 16)):
        findings.trap(
            f"Avg prompt throughput (up to {fast:,.1f} tokens/s) counts cached tokens like "
            "computed ones before 0.16: it is no speed of prefill"
        )
    if any(stretch.first == 0 for stretch in stretches):
        findings.trap(
            "0.0 % is anything below 0.05 %, and looks the same with prefix caching off, with "
            "nothing shared, and with shared beginnings shorter than one block"
        )
    preempted = sum(stretch.preemptions for stretch in stretches)
    if preempted and (version is None or version < (0, 13)):
        findings.trap(
            f"{preempted:,} preemptions: in 0.11 and before, a preempted request finds its own "
            "blocks again, and that counts as a hit; from 0.13 it is left out"
        )
    if any(stretch.waited for stretch in stretches) and (version is None or version < (0, 28)):
        findings.trap(
            "Requests were waiting: before 0.28 a request that does not fit yet is looked up, and "
            "counted, at every try"
        )


def _warn_v0(findings: Findings, stretch: Stretch) -> None:
    if stretch.first is None or stretch.second is None:
        findings.trap("-1.00 % is vLLM V0's word for: prefix caching is off in this pool")
    elif stretch.first == 0 and stretch.second > 0:
        findings.trap(
            "0.00 % on the GPU beside hits on the CPU: a V0 server on CPUs has its whole KV cache "
            "in the CPU's pool, and the CPU's rate is the one that counts; on a GPU server it is "
            "that of the swap space. The two must not be added"
        )
    findings.trap(
        "V0's rates are weighted by blocks and run since the start: a change late in a long run "
        "hardly moves them"
    )
