"""Several clients at once: how many calls a second they get through. Pure: no database, no Django."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rate:
    """How many calls ended, and the seconds from the start of the first to the end of the last."""

    calls: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Calls a second of all clients together."""
        return self.calls / self.seconds


def run_clients(
    call: Callable[[T], object],
    items: Sequence[T],
    *,
    clients: int,
    seconds: float,
    end: Callable[[], None] = lambda: None,
) -> Rate:
    """Have `clients` threads make calls for `seconds`, each with the next item, from the first again after the last.

    A call under way when the time is over is finished and counted. `end` is called in each thread at its end. The first
    exception of a call stops all clients and is raised.
    """
    lock, started = threading.Lock(), time.perf_counter()
    taken = finished = 0
    failures: list[BaseException] = []

    def run() -> None:
        nonlocal taken, finished
        try:
            while not failures and time.perf_counter() - started < seconds:
                with lock:
                    item = items[taken % len(items)]
                    taken += 1
                call(item)
                with lock:
                    finished += 1
        except BaseException as error:
            failures.append(error)
        finally:
            end()

    threads = [threading.Thread(target=run, name=f"client-{number}", daemon=True) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return Rate(calls=finished, seconds=time.perf_counter() - started)
