"""An interrupt reaches the main thread only: how it ends the runs of the others soon after."""

from threading import Event


class StoppedError(Exception):
    """Ends a run in a thread whose result nobody wants any more; no user ever sees it."""


class Stop:
    """What runs call between two slices of their work (`simulate_serving`)."""

    def __init__(self) -> None:
        self._wanted = Event()

    def now(self) -> None:
        """End every run that calls this."""
        self._wanted.set()

    def __call__(self, share: float) -> None:
        """share: of the requests that have ended. Raises StoppedError once `now` was called."""
        if self._wanted.is_set():
            raise StoppedError
