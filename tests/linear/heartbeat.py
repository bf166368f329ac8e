"""How long something keeps all other threads of its process from running."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


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
