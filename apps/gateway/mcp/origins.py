"""Which web pages may use the server: none but our own and those that the operator names.

The protocol asks servers to look at ``Origin``, so that no page reaches a server on its reader's machine by rebinding a
name (2025-11-25, Transports, Security Warning). Clients that are no web pages send none.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from apps.gateway.oauth.addresses import get_base_url

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
PREFLIGHT_SECONDS = 600


def is_allowed_origin(request: HttpRequest, origin: str) -> bool:
    """Whether a page of this origin may send requests: our own, one of `MCP_ALLOWED_ORIGINS`, and on a machine of
    one's own (the request is for loopback) any page of that machine, such as the MCP Inspector's.
    """
    if origin in settings.MCP_ALLOWED_ORIGINS or origin == get_base_url(request):
        return True
    try:
        page, server = urlsplit(origin).hostname, urlsplit(f"//{request.get_host()}").hostname
    except ValueError:
        return False
    return page in _LOOPBACK and server in _LOOPBACK


def add_cors_headers(request: HttpRequest, response: HttpResponseBase, origin: str) -> None:
    """Let a page of an allowed origin read the answer. No cookie counts here, so none is asked for."""
    response["Access-Control-Allow-Origin"] = origin
    response["Access-Control-Expose-Headers"] = "WWW-Authenticate"
    patch_vary_headers(response, ["Origin"])
    if request.method == "OPTIONS":
        response["Access-Control-Allow-Methods"] = "POST"
        response["Access-Control-Allow-Headers"] = request.headers.get("Access-Control-Request-Headers", "")
        response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
