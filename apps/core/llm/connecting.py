"""HTTP clients for model servers, one an event loop: they follow no redirect, and read no more than an answer has.

A prompt holds what somebody said: a server that answers with another address (307 repeats the request there) must not
get it sent on. An answer without line ends would be collected until the memory is full.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

import httpx2
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

# 1,000,000 characters, each escaped; and a hundred vectors of many numbers, with all their digits.
MAX_LINE_BYTES = 16 * 1024**2
MAX_BODY_BYTES = 64 * 1024**2

# What is compressed may be a hundred times as long.
_COMPRESSION = 16

_PLAIN = {"Accept-Encoding": "identity"}


class AnswerTooLong(Exception):
    """More bytes came than an answer can have."""


def make_async_client(timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """Return a client for answers that come in lines."""

    async def limit(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _LimitedAsync(response.stream, _Counter(_find_limit(response, MAX_LINE_BYTES), by_line=True))

    return DefaultAsyncHttpxClient(
        follow_redirects=False, timeout=timeout, headers=_PLAIN, event_hooks={"response": [limit]}
    )


def make_client() -> httpx2.Client:
    """Return a client for answers that come whole."""

    def limit(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Limited(response.stream, _Counter(_find_limit(response, MAX_BODY_BYTES), by_line=False))

    return DefaultHttpxClient(follow_redirects=False, headers=_PLAIN, event_hooks={"response": [limit]})


def _find_limit(response: httpx2.Response, limit: int) -> int:
    compressed = response.headers.get("content-encoding", "identity") != "identity"
    return limit // _COMPRESSION if compressed else limit


class _Counter:
    """Counts bytes, those of a line or all. Raises `AnswerTooLong`."""

    def __init__(self, limit: int, *, by_line: bool) -> None:
        self._limit = limit
        self._by_line = by_line
        self._count = 0

    def count(self, chunk: bytes) -> bytes:
        end = chunk.rfind(b"\n") if self._by_line else -1
        self._count = len(chunk) - end - 1 if end >= 0 else self._count + len(chunk)
        if self._count > self._limit:
            raise AnswerTooLong
        return chunk


class _LimitedAsync(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, counter: _Counter) -> None:
        self._stream = stream
        self._counter = counter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield self._counter.count(chunk)

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Limited(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, counter: _Counter) -> None:
        self._stream = stream
        self._counter = counter

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            yield self._counter.count(chunk)

    def close(self) -> None:
        self._stream.close()


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
