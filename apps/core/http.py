"""One behaviour for every HTTP door: one error shape, strict parameters, pages of results, and async views.

DRF has no async views; `AsyncAPIView` runs DRF's own authentication, permissions, throttles, validation and error
handling around async handlers, so that streaming and ordinary endpoints cannot diverge.
"""

from __future__ import annotations

import asyncio
import math
import sys
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, NoReturn, TypeVar

import structlog
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import RequestDataTooBig
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import defaults
from rest_framework import exceptions, status
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core.db import in_database
from apps.core.errors import JiyiError, NotFound, StorageFull, TooLarge
from apps.core.outages import describe_outage

logger = structlog.get_logger(__name__)

API_ROOTS = frozenset(
    {
        "api",
        "chat",
        "memory",
        "profile",
        "summaries",
        "webhooks",
        "v1",
        "mcp",
        "register",
        "token",
        "healthz",
        "livez",
        "readyz",
        "metrics",
        ".well-known",
    }
)
CODES = {
    status.HTTP_400_BAD_REQUEST: "invalid",
    status.HTTP_401_UNAUTHORIZED: "unauthenticated",
    status.HTTP_403_FORBIDDEN: "forbidden",
    status.HTTP_404_NOT_FOUND: "not_found",
    status.HTTP_405_METHOD_NOT_ALLOWED: "method_not_allowed",
    status.HTTP_413_REQUEST_ENTITY_TOO_LARGE: "too_large",
    status.HTTP_415_UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
    status.HTTP_429_TOO_MANY_REQUESTS: "throttled",
    status.HTTP_500_INTERNAL_SERVER_ERROR: "internal_error",
}


# Errors


def error_body(code: str, message: str, fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the one error shape: ``{"error": {"code", "message", "fields"}}``."""
    return {"error": {"code": code, "message": message, "fields": dict(fields or {})}}


def handle_exception(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Encode any expected exception for DRF; None (an unexpected one) becomes a 500 upstream."""
    if isinstance(exc, JiyiError):
        body = error_body(exc.code, exc.message, exc.fields)
        return Response(body, status=exc.status, headers=exc.headers)
    if isinstance(exc, RequestDataTooBig):
        return handle_exception(TooLarge("The request body is too large."), context)
    if outage := describe_outage(exc):
        logger.error(f"store.{outage.code}", exc_info=exc)
        return handle_exception(outage, context)
    if isinstance(exc, Http404):
        exc = exceptions.NotFound()
    elif isinstance(exc, DjangoPermissionDenied):
        exc = exceptions.PermissionDenied()
    if not isinstance(exc, exceptions.APIException):
        return None
    headers: dict[str, str] = {}
    if auth_header := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = auth_header
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = str(math.ceil(wait))
    message, fields = _describe(exc.detail)
    body = error_body(CODES.get(exc.status_code, exc.default_code), message, fields)
    return Response(body, status=exc.status_code, headers=headers)


def _describe(detail: Any) -> tuple[str, dict[str, Any]]:
    """Return one sentence and the reasons by field of DRF's nested error detail."""
    if isinstance(detail, Mapping):
        general = detail.get("non_field_errors")
        if general:
            return str(_first(general)), {k: v for k, v in detail.items() if k != "non_field_errors"}
        name, reasons = next(iter(detail.items()))
        return f"{name}: {_first(reasons)}", dict(detail)
    return str(_first(detail)), {}


def _first(reasons: Any) -> Any:
    while isinstance(reasons, (list, tuple, Mapping)) and reasons:
        reasons = next(iter(reasons.values())) if isinstance(reasons, Mapping) else reasons[0]
    return reasons


def _is_api(request: HttpRequest) -> bool:
    return request.path.split("/", 2)[1] in API_ROOTS


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django itself refuses (a host it does not serve, too many parameters) as `page_not_found` does."""
    if _is_api(request):
        return JsonResponse(error_body("invalid", "This request is not acceptable."), status=400)
    return defaults.bad_request(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404 in the API's shape under its paths, with a page elsewhere."""
    if _is_api(request):
        return JsonResponse(error_body("not_found", "There is nothing here."), status=404)
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500 in the API's shape under its paths, with a page elsewhere; 503 where a store is away or full.

    Django calls it while it handles what was raised, in a view or in middleware, and logs that.
    """
    if outage := describe_outage(sys.exc_info()[1]):
        headers = outage.headers
        if _is_api(request):
            return JsonResponse(error_body(outage.code, outage.message), status=outage.status, headers=headers)
        # Without the request: nothing that its context holds is to ask the store that has just failed.
        page = render_to_string("503.html", {"is_full": isinstance(outage, StorageFull)})
        return HttpResponse(page, status=outage.status, headers=headers)
    if _is_api(request):
        message = "An internal error occurred. The details are in the server log."
        return JsonResponse(error_body("internal_error", message), status=500)
    return render(request, "500.html", status=500)


# Reading requests


def read_uuid(value: str) -> uuid.UUID:
    """Return the UUID in a path; anything else is an object that does not exist: `NotFound`."""
    try:
        return uuid.UUID(value)
    except ValueError:
        raise NotFound("This object does not exist.") from None


class ListView(ListAPIView[Any]):
    """List what is of who asks; a GET calls `list`.

    `rows`: returns it, of a person and of what the IDs in the path name.
    """

    rows: ClassVar[Callable[..., QuerySet[Any]]]

    def get_queryset(self) -> QuerySet[Any]:
        return type(self).rows(self.request.user, *map(read_uuid, self.kwargs.values()))


# Async views

R = TypeVar("R")

# Characters, or bytes, that are read in a few milliseconds: sooner than a thread is worth it.
SHORT: Final = 8_000


async def run_in_thread_if_large(func: Callable[[], R], *, size: int) -> R:
    """Return what `func` returns, in a thread where it reads more than `SHORT` characters. It asks no database.

    A thread takes turns with the event loop every few milliseconds, as long as no single call into C takes long: what
    reads texts is linear in their length (tests/linear).
    """
    return func() if size <= SHORT else await asyncio.to_thread(func)


def read_size(request: Request) -> int:
    """Return how many bytes of JSON the body has, by its header."""
    length = request.headers.get("Content-Length", "")
    is_json = (request.content_type or "") == "application/json"
    return int(length) if is_json and length.isascii() and length.isdecimal() else 0


class AsyncAPIView(APIView):
    """An `APIView` whose handlers are coroutines.

    `parses_ahead`: whether a long body is parsed for the handler, in a thread; False where it takes the bytes.
    """

    parses_ahead = True

    async def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        self.args, self.kwargs = args, kwargs
        drf_request = self.initialize_request(request, *args, **kwargs)
        self.request = drf_request
        self.headers = self.default_response_headers
        response: HttpResponseBase
        try:
            await in_database(self.initial, drf_request, *args, **kwargs)
            if self.parses_ahead and read_size(drf_request) > SHORT:
                await asyncio.to_thread(getattr, drf_request, "data")  # once read, it stays read
            handler = getattr(self, (request.method or "").lower(), self._not_allowed)
            response = await handler(drf_request, *args, **kwargs)
        except Exception as exc:
            response = await in_database(self.handle_exception, exc)
        # DRF takes any response here; its type hints know only its own.
        return self.finalize_response(drf_request, response, *args, **kwargs)  # type: ignore[arg-type]

    async def _not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        self.http_method_not_allowed(request, *args, **kwargs)
        raise AssertionError("http_method_not_allowed always raises")

    async def options(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # type: ignore[override]
        return await in_database(super().options, request, *args, **kwargs)
