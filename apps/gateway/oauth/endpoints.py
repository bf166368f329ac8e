"""The endpoints that applications call, and the documents from which they learn of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.views import (
    OAuthProtectedResourceMetadataView,
    OAuthServerMetadataView,
    RevokeTokenView,
    TokenView,
)

from apps.gateway.oauth.addresses import MCP_PATH, RESOURCE_METADATA_PATH, get_base_url
from apps.gateway.oauth.registration import register as register_client

View = Callable[..., HttpResponseBase]


def open_to_pages(view: View) -> View:
    """Let pages of every origin call it: it looks at no cookie, so nobody's browser lends them any right."""

    @csrf_exempt
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = HttpResponse(status=204) if request.method == "OPTIONS" else view(request, *args, **kwargs)
        response["Access-Control-Allow-Origin"] = "*"
        if request.method == "OPTIONS":
            response["Access-Control-Allow-Methods"] = "GET, POST"
            response["Access-Control-Allow-Headers"] = "Authorization, Content-Type, MCP-Protocol-Version"
        return response

    return answer


def refuse_unstorable(view: View) -> View:
    """Answer 400 where a parameter holds what no client or token can, rather than ask the database for it."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if any("\0" in value for _name, values in request.POST.lists() for value in values):
            return JsonResponse({"error": "invalid_request"}, status=400)
        return view(request, *args, **kwargs)

    return answer


class CodeTokenView(TokenView):
    """Without the toolkit's device flow."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = self.authorization_flow_token_response(request)
        return response


class ResourceMetadataView(OAuthProtectedResourceMetadataView):
    """RFC 9728, for the MCP server and for the server as a whole."""

    def get_resource(self, request: HttpRequest) -> str:
        path = MCP_PATH if request.path == f"{RESOURCE_METADATA_PATH}{MCP_PATH}" else ""
        return f"{get_base_url(request)}{path}"

    def get_authorization_servers(self, request: HttpRequest) -> list[str]:
        return [get_base_url(request)]

    def get_resource_name(self) -> str:
        return "Jiyi 记忆"


token = open_to_pages(refuse_unstorable(CodeTokenView.as_view()))
revoke = open_to_pages(refuse_unstorable(RevokeTokenView.as_view()))
register = open_to_pages(register_client)
server_metadata = open_to_pages(OAuthServerMetadataView.as_view())
resource_metadata = open_to_pages(ResourceMetadataView.as_view())
