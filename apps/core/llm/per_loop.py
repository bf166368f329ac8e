"""One resource per event loop, closed with the loop.

An asyncio client belongs to the loop it was first used in. A web process has one loop for its whole life, a worker
makes one per task, a test one per test: keeping a client for each, and none longer than its loop, takes this much.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Opens what `make` returns once in each event loop, and closes it when that loop shuts down.

    The closing relies on `loop.shutdown_asyncgens`, which `asyncio.run`, `asyncio.Runner`, uvicorn and asgiref all
    call: an asynchronous generator holds the resource open, and finishing it closes the resource.
    """

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._make = make
        self._open: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T, None]]] = {}

    async def get(self) -> T:
        """Return the running loop's resource."""
        loop = asyncio.get_running_loop()
        held = self._open.get(loop)
        if held is None:
            self._forget_closed_loops()
            keeping = self._keep(loop)
            held = self._open[loop] = (await anext(keeping), keeping)
        return held[0]

    async def _keep(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[T, None]:
        async with self._make() as resource:
            try:
                yield resource
            finally:
                self._open.pop(loop, None)

    def _forget_closed_loops(self) -> None:
        """Let go of loops that were closed without being shut down properly."""
        for loop in [loop for loop in self._open if loop.is_closed()]:
            self._open.pop(loop, None)
