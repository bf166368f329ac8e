"""Requests as values, and the descriptors that make methods of them, blocking or not.

Each method of the API is described once, as a function that returns a `Request`. `call`, `all_pages` and `stream` turn
such a description into a method that blocks in a `Resource[SyncTransport]` and is awaited in a
`Resource[AsyncTransport]`; type checkers see both.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from collections.abc import Generator as SyncGenerator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, Final, Generic, ParamSpec, TypeVar, overload
from urllib.parse import quote

from jiyi.types import Page, TurnEvent

if TYPE_CHECKING:
    from jiyi._transport import AsyncTransport, SyncTransport

P = ParamSpec("P")
T = TypeVar("T")


class BaseTransport:
    """What sends requests; there is one that blocks and one that does not."""

    url: str
    end_user: str | None


Transport = TypeVar("Transport", bound=BaseTransport)


class Unset:
    """The kind of `UNSET`."""

    def __repr__(self) -> str:
        return "UNSET"


# What is left out of a request, where None is a value of its own.
UNSET: Final = Unset()


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One request and how its answer is read. `path` has its IDs in braces, as in the OpenAPI document.

    `file`: sent as multipart/form-data, with the fields of the body.
    `repeatable`: sending it twice does what sending it once does, so it may be sent again after a failure.
    `waits_for_model`: the answer comes when a model has written it, so it may take longer.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    ids: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    file: bytes | BinaryIO | None = None
    file_name: str = "file"
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    waits_for_model: bool = False

    @property
    def target(self) -> str:
        """The path with its IDs put in."""
        return self.path.format(**{name: quote(str(value), safe="") for name, value in self.ids.items()})

    @property
    def parameters(self) -> dict[str, str]:
        """The query as text; None is left out."""
        return {name: _to_text(value) for name, value in self.query.items() if value is not None}


def get(path: str, read: Callable[[Any], T], *, query: Mapping[str, Any] | None = None, **ids: str) -> Request[T]:
    """Describe a GET."""
    return Request("GET", path, read, ids=ids, query=query or {}, repeatable=True)


def post(
    path: str,
    read: Callable[[Any], T],
    *,
    body: Mapping[str, Any] | None = None,
    key: str | None = None,
    waits_for_model: bool = False,
    **ids: str,
) -> Request[T]:
    """Describe a POST. With a `key` for `Idempotency-Key` it may be repeated."""
    headers = {} if key is None else {"Idempotency-Key": key}
    return Request(
        "POST",
        path,
        read,
        ids=ids,
        body=None if body is None else given(body),
        headers=headers,
        repeatable=key is not None,
        waits_for_model=waits_for_model,
    )


def upload(
    path: str,
    read: Callable[[Any], T],
    *,
    file: bytes | BinaryIO,
    name: str,
    body: Mapping[str, Any] | None = None,
    **ids: str,
) -> Request[T]:
    """Describe a POST of a file. An open one is read from its beginning while it is sent, and has to allow that."""
    fields = {key: _to_text(value) for key, value in given(body or {}).items()}
    return Request("POST", path, read, ids=ids, body=fields or None, file=file, file_name=name)


def put(path: str, read: Callable[[Any], T], *, body: Mapping[str, Any], **ids: str) -> Request[T]:
    """Describe a PUT."""
    return Request("PUT", path, read, ids=ids, body=given(body), repeatable=True)


def patch(path: str, read: Callable[[Any], T], *, body: Mapping[str, Any], **ids: str) -> Request[T]:
    """Describe a PATCH."""
    return Request("PATCH", path, read, ids=ids, body=given(body))


def delete(path: str, read: Callable[[Any], T], *, query: Mapping[str, Any] | None = None, **ids: str) -> Request[T]:
    """Describe a DELETE."""
    return Request("DELETE", path, read, ids=ids, query=query or {}, repeatable=True)


def given(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body without what is `UNSET`, its times in ISO 8601."""
    return {name: _to_wire(value) for name, value in body.items() if not isinstance(value, Unset)}


def unless_none(value: T | None) -> T | Unset:
    """Return the value, `UNSET` in place of None: for a field that cannot be null."""
    return UNSET if value is None else value


def new_idempotency_key() -> str:
    """Return a key that makes a message or a recording repeatable: the same key again stores nothing twice."""
    return uuid.uuid4().hex


def _to_wire(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _to_wire(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_wire(item) for item in value]
    return value


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    if isinstance(value, list | tuple):
        return ",".join(map(_to_text, value))
    return str(value)


class Resource(Generic[Transport]):
    """A part of the API: methods on one transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class _Method(Generic[P, T]):
    """A method of a resource that is described by a function from its arguments to a request."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Request[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    def _bind(self, resource: Resource[Any], run: Callable[[Request[T]], Any]) -> Callable[P, Any]:
        @wraps(self.describe)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return run(self.describe(resource, *args, **kwargs))

        signature = inspect.signature(self.describe)
        method.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=list(signature.parameters.values())[1:], return_annotation=inspect.Signature.empty
        )
        return method


class call(_Method[P, T]):  # a decorator
    """Make a method of a description: it returns what the answer holds."""

    @overload
    def __get__(self, resource: None, owner: type) -> call[P, T]: ...
    @overload
    def __get__(self, resource: Resource[SyncTransport], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[AsyncTransport], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Resource[Any] | None, owner: type) -> Any:
        return self if resource is None else self._bind(resource, resource._transport.send)


class stream(_Method[P, TurnEvent]):  # a decorator
    """Make a method of a description whose answer is a stream: it returns an iterator over the events of a turn."""

    @overload
    def __get__(self, resource: None, owner: type) -> stream[P]: ...
    @overload
    def __get__(
        self, resource: Resource[SyncTransport], owner: type
    ) -> Callable[P, SyncGenerator[TurnEvent, None, None]]: ...
    @overload
    def __get__(
        self, resource: Resource[AsyncTransport], owner: type
    ) -> Callable[P, AsyncGenerator[TurnEvent, None]]: ...
    def __get__(self, resource: Resource[Any] | None, owner: type) -> Any:
        return self if resource is None else self._bind(resource, resource._transport.stream)


class all_pages(Generic[P, T]):  # used like a decorator
    """Make a method of a list: it iterates over all results from `offset` on, `limit` at a time."""

    def __init__(self, listing: call[P, Page[T]]) -> None:
        self.listing = listing
        self.__doc__ = f"{listing.__doc__}\n\nIterates over all of them, page by page."

    @overload
    def __get__(self, resource: None, owner: type) -> all_pages[P, T]: ...
    @overload
    def __get__(self, resource: Resource[SyncTransport], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, resource: Resource[AsyncTransport], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, resource: Resource[Any] | None, owner: type) -> Any:
        return self if resource is None else self.listing._bind(resource, resource._transport.iterate)


def next_page(request: Request[Page[T]], page: Page[T]) -> Request[Page[T]] | None:
    """Return the request of the page that comes after this one; None after the last."""
    if page.next is None or not page.results:
        return None
    offset = int(request.query.get("offset") or 0) + len(page.results)
    return replace(request, query={**request.query, "offset": offset})
