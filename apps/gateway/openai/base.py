"""What the endpoints of OpenAI's API have in common: errors in its shape, who asks, and waiting for the first word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from rest_framework.request import Request

from apps.accounts.models import ApiToken, User
from apps.accounts.selectors import get_user
from apps.accounts.services.people import resolve_person
from apps.chat.services import Started, TurnEvent
from apps.core.http import AsyncAPIView
from apps.gateway.openai.errors import handle_openai_exception

FIRST_EVENT_SECONDS = 15.0
"""How long the status of a stream waits for the model's first word: until then a failure has a status of its own."""


class OpenAIView(AsyncAPIView):
    """A view whose errors have OpenAI's shape."""

    def get_exception_handler(self) -> Any:
        return handle_openai_exception


def find_person(request: Request) -> User:
    """Return who asks: with a service token also by fields of the body (T4)."""
    user = get_user(request)
    token = request.auth
    if not (isinstance(token, ApiToken) and token.is_service and token.user_id == user.pk):
        return user
    body = request.data if isinstance(request.data, Mapping) else {}
    return resolve_person(token=token, headers=request.headers, body=body)


async def peek(events: AsyncIterator[TurnEvent]) -> tuple[TurnEvent | None, AsyncIterator[TurnEvent]]:
    """Wait a while for the first event that says something, and return it with all events; None if none came."""
    seen: list[TurnEvent] = []
    upcoming = asyncio.ensure_future(anext(events))
    deadline = asyncio.get_running_loop().time() + FIRST_EVENT_SECONDS
    first: TurnEvent | None = None
    while first is None:
        remaining = deadline - asyncio.get_running_loop().time()
        done, _pending = await asyncio.wait([upcoming], timeout=max(remaining, 0))
        if not done:
            break
        seen.append(upcoming.result())
        if isinstance(seen[-1], Started):
            upcoming = asyncio.ensure_future(anext(events))
        else:
            first = seen[-1]

    async def replay() -> AsyncIterator[TurnEvent]:
        for event in seen:
            yield event
        if first is None:
            yield await upcoming
        async for event in events:
            yield event

    return first, replay()
