"""The endpoints that applications call, the documents from which they learn of them, and the page of consent."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.models import get_application_model
from oauth2_provider.views import (
    AuthorizationView,
    OAuthProtectedResourceMetadataView,
    OAuthServerMetadataView,
    RevokeTokenView,
    TokenView,
)
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error

from apps.accounts.types import Scope
from apps.doors.mcp.oauth.registration import register as register_client
from apps.doors.mcp.oauth.services import (
    MCP_PATH,
    RESOURCE_METADATA_PATH,
    describe_target,
    get_base_url,
    list_resources,
)

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


# Consent


class ConsentView(AuthorizationView):
    """Asks each time: a public client cannot prove that it is the one that was allowed before (RFC 9700, 4.13)."""

    template_name = "oauth/consent.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if any("\0" in value for given in (request.GET, request.POST) for value in given.values()):
            raise BadRequest("No client has such a name.")
        if "approval_prompt" in request.GET:  # django-oauth-toolkit would let it skip the question
            asked = request.GET.copy()
            del asked["approval_prompt"]
            request.GET = asked  # type: ignore[assignment]
        return super().dispatch(request, *args, **kwargs)  # type: ignore[no-any-return]

    def handle_no_permission(self) -> HttpResponseBase:
        """Send to the log-in page whatever the request asks for: before that nothing of it is looked at."""
        return redirect_to_login(self.request.get_full_path())

    def validate_authorization_request(self, request: HttpRequest) -> tuple[list[str], dict[str, Any]]:
        scopes, credentials = super().validate_authorization_request(request)
        known = list_resources(get_base_url(request))
        if any(resource not in known for resource in request.GET.getlist("resource")):
            error = CustomOAuth2Error(
                error="invalid_target",
                description="This server has no such resource.",
                state=credentials.get("state"),
            )
            raise OAuthToolkitError(error=error, redirect_uri=credentials["redirect_uri"])
        return scopes, credentials

    def redirect(self, redirect_to: str, application: Any) -> OAuth2ResponseRedirect:
        """Lead back to the application; its redirect URIs were checked when it registered."""
        if application is None:
            client_id = self.request.POST.get("client_id") or self.request.GET.get("client_id", "")
            application = get_application_model().objects.filter(client_id=client_id).first()
        known = application.redirect_uris.split() if application else []
        return OAuth2ResponseRedirect(redirect_to, {urlsplit(uri).scheme for uri in known})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        if "application" in context:
            target, is_local = describe_target(context["redirect_uri"])
            context |= {"target": target, "is_local": is_local, "may_write": Scope.WRITE in context["scopes"]}
        return context
