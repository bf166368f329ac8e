"""Record the calls of models that a request makes by itself, such as embedding what is searched for (Q1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest

from apps.core.db import in_database
from apps.core.llm.metering import ModelCall, collect_calls
from apps.costs.ledger import record_rest


class ModelCallsMiddleware:
    """For whoever asks. A turn and background work record theirs with what they write."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if iscoroutinefunction(self):
            return self._answer(request, self._get_response)
        with collect_calls() as calls:
            response = self._get_response(request)
        _record(request, calls)
        return response

    async def _answer(self, request: HttpRequest, get_response: Callable[[HttpRequest], Awaitable[Any]]) -> Any:
        with collect_calls() as calls:
            response = await get_response(request)
        if calls:
            await in_database(_record, request, calls)
        return response


def _record(request: HttpRequest, calls: Sequence[ModelCall]) -> None:
    if calls and request.user.is_authenticated:
        record_rest(list(calls), owners={(request.user.pk, request.user.data_epoch): 1})
