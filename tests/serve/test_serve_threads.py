"""Loading leaves no thread behind that computes: its pool would take cores from the engine's."""

import os
import threading

import pytest

from hitpath.core import SettingError
from hitpath.serve.run import _in_a_passing_thread


def test_what_is_made_is_made_in_a_thread_that_has_ended() -> None:
    before = threading.active_count()
    made_in = _in_a_passing_thread(threading.current_thread)
    assert made_in is not threading.main_thread()
    assert not made_in.is_alive()
    assert threading.active_count() == before


def test_its_errors_are_the_callers() -> None:
    def fail() -> None:
        raise SettingError("--kv-gib 1", "is too little")

    with pytest.raises(SettingError, match="--kv-gib 1: is too little"):
        _in_a_passing_thread(fail)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads as Linux does")
def test_torch_leaves_no_helpers_behind() -> None:
    """The pool of the thread that loaded is gone with it; the main thread's would have stayed."""
    torch = pytest.importorskip("torch")

    def compute() -> int:
        torch.set_num_threads(max(torch.get_num_threads(), 2))
        product = torch.ones(600, 600) @ torch.ones(600, 600)
        (product + 1).sum().item()
        return len(os.listdir("/proc/self/task"))

    threads = torch.get_num_threads()
    try:
        _in_a_passing_thread(compute)  # torch begins a thread or two that stay, once
        before = settled()
        while_it_ran = _in_a_passing_thread(compute)
        assert while_it_ran > before
        assert settled() <= before
    finally:
        torch.set_num_threads(threads)


def settled() -> int:
    """Threads of this process, once their number has stayed the same for a tenth of a second."""
    last, same = -1, 0
    for _ in range(500):
        now = len(os.listdir("/proc/self/task"))
        same = same + 1 if now == last else 0
        if same == 5:
            break
        last = now
        threading.Event().wait(0.02)
    return last
