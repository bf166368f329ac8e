"""Sending requests: everything that can be decided without waiting is a function, and two thin classes wait."""

from __future__ import annotations

import asyncio
import json
import platform
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar
from urllib.parse import quote

import httpx2

from jiyi._requests import BaseTransport, Request, next_page
from jiyi._streaming import TurnReader
from jiyi.errors import (
    APIError,
    ConnectionFailed,
    JiyiError,
    ModelUnavailable,
    Throttled,
    TimedOut,
    UnexpectedAnswer,
    read_error,
)
from jiyi.types import Page, TurnEvent

T = TypeVar("T")
VERSION = "0.1.0"
USER_AGENT = f"jiyi-client/{VERSION} python/{platform.python_version()}"


FIRST_DELAY = 0.5
# In seconds. A server that asks for a longer break gets its error passed on.
MAX_DELAY = 30.0

_PASSING = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Options:
    """Where and how to send requests; times in seconds."""

    url: str
    token: str
    end_user: str | None
    timeout: float
    reply_timeout: float
    retries: int

    def delay(self, request: Request[Any], error: JiyiError, attempt: int) -> float | None:
        """Return the seconds to wait before sending a request again; None to give up."""
        return get_delay(request, error, attempt=attempt, retries=self.retries, jitter=random.random())

    def arguments(self, request: Request[Any]) -> dict[str, Any]:
        """Return the arguments of httpx2's `request` and `stream`."""
        headers = {"Authorization": f"Bearer {self.token}", "User-Agent": USER_AGENT, **request.headers}
        if self.end_user is not None:
            headers["X-End-User"] = quote(self.end_user, safe="@:+/")
        arguments: dict[str, Any] = {
            "method": request.method,
            "url": f"{self.url}{request.target}",
            "params": request.parameters,
            "headers": headers,
            "timeout": httpx2.Timeout(
                self.timeout, read=self.reply_timeout if request.waits_for_model else self.timeout
            ),
        }
        if request.file is not None:
            arguments["files"] = {"file": (request.file_name, request.file, "application/octet-stream")}
            arguments["data"] = request.body or {}
        elif request.body is not None:
            headers["Content-Type"] = "application/json"
            arguments["content"] = json.dumps(request.body, allow_nan=False).encode()
        return arguments


def get_delay(request: Request[Any], error: JiyiError, *, attempt: int, retries: int, jitter: float) -> float | None:
    """Return the seconds to wait before sending a request again; None to give up.

    `attempt` counts from 0, `jitter` is from 0 to 1. What was throttled was not carried out, so it is always repeated;
    all else only if the request is repeatable. A model that failed is not asked again unless the caller retries the
    message: the failure is the outcome of that message.
    """
    if attempt >= retries:
        return None
    if isinstance(error, ModelUnavailable):
        return None
    if not isinstance(error, Throttled):
        passing = isinstance(error, ConnectionFailed) or (isinstance(error, APIError) and error.status in _PASSING)
        if not (passing and request.repeatable):
            return None
    backoff = FIRST_DELAY * 2.0**attempt * (0.5 + jitter / 2)
    asked = error.retry_after if isinstance(error, APIError) and error.retry_after is not None else 0.0
    delay = max(min(backoff, MAX_DELAY), asked)
    return delay if delay <= MAX_DELAY else None


def read_answer(request: Request[T], response: httpx2.Response) -> T:
    """Return what an answer holds; raises what it refuses."""
    try:
        data = response.json()
    except ValueError:
        data = None
    if not response.is_success:
        raise read_error(response.status_code, data, retry_after=response.headers.get("Retry-After"))
    if data is None:
        raise UnexpectedAnswer("The answer is not JSON. Is the URL that of a Jiyi server?")
    return request.read(data)


def check_stream(response: httpx2.Response) -> None:
    """Raise unless an answer is a stream of events."""
    if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
        raise UnexpectedAnswer("The answer is not a stream. Is the URL that of a Jiyi server?")


@contextmanager
def own_errors(url: str) -> Iterator[None]:
    """Raise the errors of this library in place of those of httpx2."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise TimedOut(f"{url} did not answer in time.") from error
    except httpx2.TransportError as error:
        raise ConnectionFailed(f"{url} cannot be reached: {error or type(error).__name__}") from error
    except httpx2.InvalidURL as error:
        raise ConnectionFailed(f"{url} is not a valid URL: {error}") from error
    except httpx2.HTTPError as error:
        raise UnexpectedAnswer(f"The answer of {url} cannot be read: {error}") from error


class SyncTransport(BaseTransport):
    """Sends requests and blocks until they are answered."""

    def __init__(self, http: httpx2.Client, options: Options) -> None:
        self.http = http
        self.options = options
        self.url, self.end_user = options.url, options.end_user

    def send(self, request: Request[T]) -> T:
        """Return what the answer holds. Raises `JiyiError`."""
        for attempt in count():
            try:
                with own_errors(self.url):
                    response = self.http.request(**self.options.arguments(request))
                return read_answer(request, response)
            except JiyiError as error:
                delay = self.options.delay(request, error, attempt)
                if delay is None:
                    raise
            time.sleep(delay)
        raise AssertionError("count() does not end")

    def iterate(self, request: Request[Page[T]]) -> Iterator[T]:
        """Yield the results of a list, page by page."""
        upcoming: Request[Page[T]] | None = request
        while upcoming is not None:
            page = self.send(upcoming)
            yield from page
            upcoming = next_page(upcoming, page)

    def stream(self, request: Request[TurnEvent]) -> Generator[TurnEvent, None, None]:
        """Yield the events of a turn as they come. Raises `JiyiError`."""
        for attempt in count():
            reader = TurnReader()
            try:
                with own_errors(self.url), self.http.stream(**self.options.arguments(request)) as response:
                    if not response.is_success:
                        response.read()
                        read_answer(request, response)
                    check_stream(response)
                    for piece in response.iter_bytes():
                        yield from reader.feed(piece)
                return reader.end()
            except JiyiError as error:
                delay = None if reader.started else self.options.delay(request, error, attempt)
                if delay is None:
                    raise
            time.sleep(delay)


class AsyncTransport(BaseTransport):
    """Sends requests without blocking the event loop."""

    def __init__(self, http: httpx2.AsyncClient, options: Options) -> None:
        self.http = http
        self.options = options
        self.url, self.end_user = options.url, options.end_user

    async def send(self, request: Request[T]) -> T:
        """Return what the answer holds. Raises `JiyiError`."""
        for attempt in count():
            try:
                with own_errors(self.url):
                    response = await self.http.request(**self.options.arguments(request))
                return read_answer(request, response)
            except JiyiError as error:
                delay = self.options.delay(request, error, attempt)
                if delay is None:
                    raise
            await asyncio.sleep(delay)
        raise AssertionError("count() does not end")

    async def iterate(self, request: Request[Page[T]]) -> AsyncIterator[T]:
        """Yield the results of a list, page by page."""
        upcoming: Request[Page[T]] | None = request
        while upcoming is not None:
            page = await self.send(upcoming)
            for result in page:
                yield result
            upcoming = next_page(upcoming, page)

    async def stream(self, request: Request[TurnEvent]) -> AsyncGenerator[TurnEvent, None]:
        """Yield the events of a turn as they come. Raises `JiyiError`."""
        for attempt in count():
            reader = TurnReader()
            try:
                with own_errors(self.url):
                    async with self.http.stream(**self.options.arguments(request)) as response:
                        if not response.is_success:
                            await response.aread()
                            read_answer(request, response)
                        check_stream(response)
                        async for piece in response.aiter_bytes():
                            for event in reader.feed(piece):
                                yield event
                reader.end()
                return
            except JiyiError as error:
                delay = None if reader.started else self.options.delay(request, error, attempt)
                if delay is None:
                    raise
            await asyncio.sleep(delay)
