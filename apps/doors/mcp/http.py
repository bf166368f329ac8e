"""``/mcp``: the server over streamable HTTP, stateless, with one JSON answer to each request (T2).

The SDK's session manager is an ASGI application that wants a lifespan. Here it lives for one request: without sessions
it keeps nothing, and the request comes through Django, whose checks of hosts, log lines, limits and authentication are
then those of every other door.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

import anyio
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from apps.accounts.selectors import get_user
from apps.accounts.types import ALL_SCOPES, Scope, allows
from apps.core.errors import JiyiError, TooLarge
from apps.core.http import AsyncAPIView, error_body, run_in_thread_if_large
from apps.doors.mcp.oauth import LOOPBACK, get_base_url, get_resource_metadata_url
from apps.doors.mcp.server import TOOLS, Access, Context, build_server, read_access


async def _find_access(ctx: Context) -> Access:
    assert ctx.request is not None, "every request came over HTTP"
    access: Access = ctx.request.state.access
    return access


_server = build_server(_find_access)

# Whatever a client sends: what comes and goes is JSON, and the SDK would answer 406 to clients without `Accept`.
_ONLY_TYPES = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

# The SDK parses on the event loop, where everybody waits for it, so a body has no more than a tool can need: the
# largest argument, 64 KiB of a shared context or 32,000 characters of a memory, each written as an escape.
MAX_BODY_BYTES = 512 * 1024


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
        needed = await run_in_thread_if_large(lambda: _find_scope(body), size=len(body))
        if not allows(access.scopes, needed):
            raise InsufficientScope(request._request, needed=needed)
        manager = StreamableHTTPSessionManager(
            app=_server, json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
        )
        async with manager.run():
            return await run_application(
                manager.asgi_app, request._request, body=body, headers=_ONLY_TYPES, state={"access": access}
            )

    async def _not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        raise NothingToGet(request._request)


def _find_scope(body: bytes) -> Scope:
    """Return the scope that a message needs: that of the tool it calls, else the least. It is validated later."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return Scope.READ
    params = message.get("params") if isinstance(message, Mapping) and message.get("method") == "tools/call" else None
    tool = TOOLS.get(str(params.get("name"))) if isinstance(params, Mapping) else None
    return tool.scope if tool else Scope.READ


# What a client is told when its token is missing, bad or too weak (RFC 6750, section 3)


def make_challenge(request: HttpRequest, *, needed: Scope, error: str | None = None) -> str:
    """Return a ``WWW-Authenticate`` that says where to get a token and which scopes to ask for (RFC 9728, 5.1)."""
    parameters = {"error": error} if error else {}
    parameters["scope"] = " ".join(ALL_SCOPES[: ALL_SCOPES.index(needed) + 1])
    parameters["resource_metadata"] = get_resource_metadata_url(get_base_url(request))
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())


class NothingToGet(JiyiError):
    """405: there are neither sessions nor streams here. It says where a client learns how to connect."""

    status, code = 405, "method_not_allowed"

    def __init__(self, request: HttpRequest) -> None:
        address = get_resource_metadata_url(get_base_url(request))
        super().__init__(
            f"This is an MCP server. POST JSON-RPC messages here; {address} says how to connect.",
            fields={"resource_metadata": [address]},
        )


class InsufficientScope(exceptions.PermissionDenied):
    """403: the token is good, but not for this."""

    def __init__(self, request: HttpRequest, *, needed: Scope) -> None:
        super().__init__(f"This needs a token with the scope {needed}.")
        self.auth_header = make_challenge(request, needed=needed, error="insufficient_scope")


# Web pages

PREFLIGHT_SECONDS = 600


def is_allowed_origin(request: HttpRequest, origin: str) -> bool:
    """Whether a page of this origin may send requests: our own, one of `MCP_ALLOWED_ORIGINS`, and for requests to
    loopback any page of the same machine, such as the MCP Inspector's.

    The protocol asks servers to look at ``Origin``, so that no page reaches a server on its reader's machine by
    rebinding a name (2025-11-25, Transports, Security Warning). Clients that are not web pages send none.
    """
    if origin in settings.MCP_ALLOWED_ORIGINS or origin == get_base_url(request):
        return True
    try:
        page, server = urlsplit(origin).hostname, urlsplit(f"//{request.get_host()}").hostname
    except ValueError:
        return False
    return page in LOOPBACK and server in LOOPBACK


def add_cors_headers(request: HttpRequest, response: HttpResponseBase, origin: str) -> None:
    """Let a page of an allowed origin read the answer. No cookie counts here, so none is asked for."""
    response["Access-Control-Allow-Origin"] = origin
    response["Access-Control-Expose-Headers"] = "WWW-Authenticate"
    patch_vary_headers(response, ["Origin"])
    if request.method == "OPTIONS":
        response["Access-Control-Allow-Methods"] = "POST"
        response["Access-Control-Allow-Headers"] = request.headers.get("Access-Control-Request-Headers", "")
        response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)


# Running the SDK

Application = Callable[[Any, Any, Any], Awaitable[None]]


async def run_application(
    application: Application, request: HttpRequest, *, body: bytes, headers: Mapping[str, str], state: Mapping[str, Any]
) -> HttpResponse:
    """Return what the application answers, whole; `state` is in its scope.

    It sees the method, the path, the headers, of which `headers` are others than the client's, and the body. It must
    end its answer by itself: no stream goes through.
    """
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.META.get("QUERY_STRING", "").encode("latin-1"),
        "root_path": "",
        "headers": [
            (name.lower().encode("latin-1"), value.strip(" \t").encode("latin-1", "replace"))
            for name, value in {**request.headers, **headers}.items()
        ],
        "state": dict(state),
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    response = HttpResponse()
    del response.headers["Content-Type"]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await anyio.sleep_forever()  # a client that leaves cancels the view, and this with it
        raise AssertionError("never awake")

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            response.status_code = message["status"]
            for name, value in message.get("headers", ()):
                if name.lower() != b"content-length":
                    response.headers[name.decode("latin-1")] = value.decode("latin-1")
        else:
            response.write(message.get("body", b""))

    await application(scope, receive, send)
    return response
