"""The clients: every part of the API on one connection, blocking or asynchronous."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Generic, Self

import httpx2

from jiyi._requests import UNSET, Transport, Unset, given
from jiyi._transport import AsyncTransport, Options, SyncTransport
from jiyi.configuration import check_header, find_login
from jiyi.resources.conversations import Conversations, Messages, Sessions
from jiyi.resources.imports import Imports
from jiyi.resources.memories import (
    AtomicMemories,
    Changes,
    LongTermMemories,
    SharedContexts,
    Spaces,
    Tidyings,
    WorkingMemories,
)
from jiyi.resources.person import Account, Profiles, Settings, Summaries, Webhooks


class _Client(Generic[Transport]):
    """The parts of the API on one transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.sessions = Sessions(transport)
        self.messages = Messages(transport)
        self.conversations = Conversations(transport)
        self.long_term = LongTermMemories(transport)
        self.atomic = AtomicMemories(transport)
        self.working = WorkingMemories(transport)
        self.spaces = Spaces(transport)
        self.contexts = SharedContexts(transport)
        self.changes = Changes(transport)
        self.tidyings = Tidyings(transport)
        self.imports = Imports(transport)
        self.profile = Profiles(transport)
        self.summaries = Summaries(transport)
        self.settings = Settings(transport)
        self.webhooks = Webhooks(transport)
        self.account = Account(transport)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return self._transport.url

    @property
    def end_user(self) -> str | None:
        """Whom a service token speaks for."""
        return self._transport.end_user


class Jiyi(_Client[SyncTransport]):
    """A client that blocks.

    `url`, `token`: of the server; else `JIYI_URL` and `JIYI_TOKEN`, else what ``jiyi login`` saved.
    `end_user`: with a service token, the end user of that service to speak for (T4).
    `timeout`: for an answer, `reply_timeout`: for one that a model writes, in seconds.
    `retries`: how often to send a request again that was throttled, or that can be repeated and was not answered.
    `http`: your own `httpx2.Client`, for proxies, certificates and the like. It is not closed.

    Use it as a context manager, or `close` it.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        end_user: str | None = None,
        timeout: float = 30.0,
        reply_timeout: float = 300.0,
        retries: int = 3,
        http: httpx2.Client | None = None,
    ) -> None:
        options = _options(url, token, end_user, timeout, reply_timeout, retries)
        used = httpx2.Client() if http is None else http
        self._owned = used if http is None else None
        super().__init__(SyncTransport(used, options))

    def with_options(
        self,
        *,
        end_user: str | Unset | None = UNSET,
        timeout: float | Unset = UNSET,
        reply_timeout: float | Unset = UNSET,
        retries: int | Unset = UNSET,
    ) -> Jiyi:
        """Return a client with other options, over the same connections, for as long as this one is open."""
        options = _change(self._transport.options, end_user, timeout, reply_timeout, retries)
        client = Jiyi.__new__(Jiyi)
        client._owned = None
        _Client.__init__(client, SyncTransport(self._transport.http, options))
        return client

    def close(self) -> None:
        """Close the connections."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncJiyi(_Client[AsyncTransport]):
    """A client for asyncio: the same as `Jiyi`, with methods to be awaited."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        end_user: str | None = None,
        timeout: float = 30.0,
        reply_timeout: float = 300.0,
        retries: int = 3,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        options = _options(url, token, end_user, timeout, reply_timeout, retries)
        used = httpx2.AsyncClient() if http is None else http
        self._owned = used if http is None else None
        super().__init__(AsyncTransport(used, options))

    def with_options(
        self,
        *,
        end_user: str | Unset | None = UNSET,
        timeout: float | Unset = UNSET,
        reply_timeout: float | Unset = UNSET,
        retries: int | Unset = UNSET,
    ) -> AsyncJiyi:
        """Return a client with other options, over the same connections, for as long as this one is open."""
        options = _change(self._transport.options, end_user, timeout, reply_timeout, retries)
        client = AsyncJiyi.__new__(AsyncJiyi)
        client._owned = None
        _Client.__init__(client, AsyncTransport(self._transport.http, options))
        return client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._owned is not None:
            await self._owned.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def _options(
    url: str | None, token: str | None, end_user: str | None, timeout: float, reply_timeout: float, retries: int
) -> Options:
    login = find_login(url, token)
    return Options(
        url=login.url,
        token=login.token,
        end_user=None if end_user is None else check_header("end_user", end_user),
        timeout=timeout,
        reply_timeout=reply_timeout,
        retries=retries,
    )


def _change(
    options: Options,
    end_user: str | Unset | None,
    timeout: float | Unset,
    reply_timeout: float | Unset,
    retries: int | Unset,
) -> Options:
    if isinstance(end_user, str):
        check_header("end_user", end_user)
    changes = {"end_user": end_user, "timeout": timeout, "reply_timeout": reply_timeout, "retries": retries}
    return replace(options, **given(changes))
