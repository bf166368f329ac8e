"""The processor time that something takes, and for how long it keeps other threads of its process from running."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# What is linear takes at most a fifth of it for 32,000 characters here; what is quadratic, many times as much.
SECONDS = 0.25


class TooLong(Exception):
    """It took more processor time than it may."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in the block once it has used this much processor time; only in a process's main thread."""

    def stop(*_args: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def measure(run: Callable[[], object], *, limit: float = SECONDS, attempts: int = 3) -> float:
    """Return the processor time of the quickest attempt; infinity where all of them took longer than the limit."""
    best = float("inf")
    for _attempt in range(attempts):
        start = time.thread_time()
        try:
            with limited(limit):
                run()
        except TooLong:
            continue
        best = min(best, time.thread_time() - start)
        break
    return best


def measure_longest_hold(run: Callable[[], object]) -> float:
    """Return the most processor time, in seconds, that this process took between two beats of another thread.

    In Python code threads take turns every few milliseconds; a single long call into C holds them all up.
    """
    ended, longest, begun = threading.Event(), 0.0, threading.Event()

    def beat() -> None:
        nonlocal longest
        last = time.process_time()
        begun.set()
        while not ended.is_set():
            time.sleep(0.001)
            now = time.process_time()
            longest, last = max(longest, now - last), now

    beating = threading.Thread(target=beat)
    beating.start()
    begun.wait()
    try:
        run()
    finally:
        ended.set()
        beating.join()
    return longest
