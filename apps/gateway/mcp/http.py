"""``/mcp``: the server over streamable HTTP, stateless, with one JSON answer to each request (T2).

The SDK's session manager is an ASGI application that wants a lifespan. Here it lives for one request: without sessions
it keeps nothing, and the request comes through Django, whose checks of hosts, log lines, limits and authentication are
then those of every other door.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from apps.accounts.selectors import get_user
from apps.accounts.types import Scope, allows
from apps.core.apart import read_apart
from apps.core.errors import TooLarge
from apps.core.http import AsyncAPIView, error_body
from apps.gateway.mcp.access import Access, read_access
from apps.gateway.mcp.asgi import run_application
from apps.gateway.mcp.catalog import OFFERED, READ
from apps.gateway.mcp.challenges import InsufficientScope, NothingToGet, make_challenge
from apps.gateway.mcp.origins import add_cors_headers, is_allowed_origin
from apps.gateway.mcp.server import Context, build_server


async def _find_access(ctx: Context) -> Access:
    assert ctx.request is not None, "every request came over HTTP"
    access: Access = ctx.request.state.access
    return access


_server = build_server(_find_access)

_ONLY_TYPES = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
"""Whatever a client says of either: what it sends is JSON or refused as none, and what it gets is JSON. The SDK would
answer 406 to clients without `Accept`."""

MAX_BODY_BYTES = 512 * 1024
"""The SDK parses on the event loop, where everybody waits for it, so a body has no more than a tool can need: the
largest argument, 64 KiB of a shared context or 32,000 characters of a memory, each written as an escape."""


class McpView(AsyncAPIView):
    """One JSON-RPC message a request. There are no sessions and no streams, so nothing to GET or to DELETE."""

    parses_ahead = False  # the SDK does
    permission_classes = (IsAuthenticated,)  # each tool has a scope of its own

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Tokens only: a browser's cookie says nothing here, so no page can use it."""
        return [one for one in super().get_authenticators() if not isinstance(one, SessionAuthentication)]

    def get_authenticate_header(self, request: Request) -> str:
        error = "invalid_token" if request.headers.get("Authorization") else None
        return make_challenge(request._request, needed=Scope.WRITE, error=error)

    async def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        origin = request.headers.get("Origin")
        if origin is not None and not is_allowed_origin(request, origin):
            return JsonResponse(error_body("forbidden", "Pages of this origin may not use this server."), status=403)
        if request.method == "OPTIONS":
            response: HttpResponseBase = HttpResponse(status=204)
        else:
            response = await super().dispatch(request, *args, **kwargs)
        if origin is not None:
            add_cors_headers(request, response, origin)
        return response

    async def post(self, request: Request) -> HttpResponse:
        body: bytes = request._request.body
        access = read_access(get_user(request), request.auth)
        if len(body) > MAX_BODY_BYTES:
            raise TooLarge(f"The body has over {MAX_BODY_BYTES:,} bytes.")
        needed = await read_apart(lambda: _find_scope(body), size=len(body))
        if not allows(access.scopes, needed):
            raise InsufficientScope(request._request, needed=needed)
        manager = StreamableHTTPSessionManager(
            app=_server,
            json_response=True,
            stateless=True,
            max_request_body_size=MAX_BODY_BYTES,
        )
        async with manager.run():
            return await run_application(
                manager.asgi_app, request._request, body=body, headers=_ONLY_TYPES, state={"access": access}
            )

    async def _not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        raise NothingToGet(request._request)


def _find_scope(body: bytes) -> Scope:
    """The scope that a message takes: that of the tool it calls, else the least. What it is worth is judged later."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return READ
    params = message.get("params") if isinstance(message, Mapping) and message.get("method") == "tools/call" else None
    offered = OFFERED.get(str(params.get("name"))) if isinstance(params, Mapping) else None
    return offered.scope if offered else READ
