"""Files that must not stay behind when the process is ended (`docker stop`, a closed terminal).

Only while there is such a file are the signals caught, and only where the process would end by
them anyway; then it ends by the same signal, so that a shell sees 143 for SIGTERM.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_removals: list[Callable[[], object]] = []


@contextmanager
def removed_if_ended(remove: Callable[[], object]) -> Iterator[None]:
    """Inside, call `remove` before the process ends by a signal. It must not raise, and may find
    nothing to remove. Outside the main thread, which alone hears signals, this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = [] if _removals else [s for s in _ENDING if signal.getsignal(s) is signal.SIG_DFL]
    _removals.append(remove)
    try:
        for number in caught:
            signal.signal(number, _end)
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)
        _removals.remove(remove)


def _end(number: int, frame: FrameType | None) -> None:
    for remove in reversed(_removals):
        remove()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
