"""The endpoints of OAuth: registration of clients, tokens, the documents that tell of them, and the page of consent."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.cache import cache
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from oauth2_provider.cimd import CIMDError, SafeMetadataFetcher
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
from redis.exceptions import RedisError

from apps.accounts.types import Scope
from apps.core.access import get_client_network
from apps.core.errors import InvalidInput
from apps.doors.mcp.oauth import (
    LOOPBACK,
    MCP_PATH,
    RESOURCE_METADATA_PATH,
    describe_target,
    get_base_url,
    list_resources,
    register_application,
)

MAX_BODY_BYTES = 16 * 1024
MAX_NAME_CHARACTERS = 100
MAX_REDIRECT_URIS = 10
GRANTS = ["authorization_code", "refresh_token"]


class RefusedMetadata(InvalidInput):
    """Metadata of a client that is not acceptable; `error` is the code of RFC 7591."""

    def __init__(self, message: str, *, error: str = "invalid_client_metadata") -> None:
        super().__init__(message)
        self.error = error


def read_redirect_uris(metadata: Mapping[str, Any]) -> list[str]:
    """Return the redirect URIs of a client's metadata that are acceptable; `RefusedMetadata` where none is.

    One client names the addresses of many surroundings, and uses that of the one in which it runs.
    """
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, list) or not 1 <= len(uris) <= MAX_REDIRECT_URIS:
        raise RefusedMetadata(f"redirect_uris must be 1 to {MAX_REDIRECT_URIS} URIs.", error="invalid_redirect_uri")
    problems = [find_redirect_problem(uri) for uri in uris]
    kept = [uri for uri, problem in zip(uris, problems, strict=True) if problem is None]
    if not kept:
        raise RefusedMetadata(str(problems[0]), error="invalid_redirect_uri")
    return list(dict.fromkeys(kept))


def read_name(metadata: Mapping[str, Any], *, redirect_uris: list[str]) -> str:
    """Return what the client calls itself, without control and format characters; else where it sends people."""
    given = metadata.get("client_name")
    if given is not None and not isinstance(given, str):
        raise RefusedMetadata("client_name must be a string.")
    visible = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in given or "")
    parts = urlsplit(redirect_uris[0])
    return " ".join(visible.split())[:MAX_NAME_CHARACTERS].strip() or parts.hostname or parts.scheme


def check_grants(metadata: Mapping[str, Any]) -> None:
    """Raise `RefusedMetadata` where a client could not use the one grant that there is; others are not given to it."""
    for name, needed in (("grant_types", "authorization_code"), ("response_types", "code")):
        asked = metadata.get(name) or [needed]
        if not isinstance(asked, list) or needed not in asked:
            raise RefusedMetadata(f"{name} must have {needed}.")


@require_POST
def register_client(request: HttpRequest) -> JsonResponse:
    """Register a public client; 201 with its ID (RFC 7591). Open to everybody, and so limited.

    Whatever way to authenticate itself a client asks for, it gets `none`: a secret that everybody gets proves nothing,
    PKCE does.
    """
    if not allow_registration(request):
        answer = {"error": "temporarily_unavailable", "error_description": "Too many registrations. Try again later."}
        return JsonResponse(answer, status=429, headers={"Retry-After": "3600"})
    try:
        metadata = _read_body(request)
        redirect_uris = read_redirect_uris(metadata)
        name = read_name(metadata, redirect_uris=redirect_uris)
        check_grants(metadata)
    except RefusedMetadata as refused:
        return JsonResponse({"error": refused.error, "error_description": refused.message}, status=400)
    application = register_application(name=name, redirect_uris=redirect_uris)
    return JsonResponse(
        {
            "client_id": application.client_id,
            "client_id_issued_at": int(application.created.timestamp()),
            "client_name": application.name,
            "redirect_uris": redirect_uris,
            "grant_types": GRANTS,
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        },
        status=201,
    )


def _read_body(request: HttpRequest) -> Mapping[str, Any]:
    body = request.read(MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        raise RefusedMetadata(f"The body has over {MAX_BODY_BYTES:,} bytes.")
    try:
        metadata = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedMetadata("The body must be a JSON object.") from None
    if not isinstance(metadata, dict):
        raise RefusedMetadata("The body must be a JSON object.")
    return metadata


class MetadataFetcher(SafeMetadataFetcher):
    """Fetches the document that a client ID names, and holds it to what a registration is held to.

    The toolkit's fetcher asks public addresses only, over https, without redirects, and with limits.
    """

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        metadata, seconds = super().fetch(client_id)
        try:
            redirect_uris = read_redirect_uris(metadata)
            name = read_name(metadata, redirect_uris=redirect_uris)
        except RefusedMetadata as refused:
            raise CIMDError(refused.message) from None
        # The name is the document's own word, its address is not: so the address is what stands first.
        host = urlsplit(client_id).hostname
        return {**metadata, "client_name": f"{name} ({host})", "redirect_uris": redirect_uris}, seconds


class OnConsentOnly:
    """Documents are fetched while somebody who is logged in is asked for consent, never for an anonymous request."""

    def has_permission(self, request: Any, client_id: str) -> bool:
        path: str = urlsplit(request.uri).path
        return path == reverse("oauth2_provider:authorize")


# A limit to registrations. If the cache cannot be asked, nothing is refused.

PERIOD_SECONDS = 3_600


def allow_registration(request: HttpRequest) -> bool:
    """Count a registration from this address; False for more than `OAUTH_REGISTRATIONS_PER_HOUR`."""
    key = f"oauth:registrations:{get_client_network(request)}"
    try:
        cache.add(key, 0, PERIOD_SECONDS)
        return bool(cache.incr(key) <= settings.OAUTH_REGISTRATIONS_PER_HOUR)
    except (ValueError, RedisError, OSError):  # it expired in between, or the cache cannot be asked
        return True


# Redirect URIs (RFC 8252, RFC 9700)

# Schemes of known applications that do not follow RFC 8252, which asks for a domain name turned round.
APP_SCHEMES = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf", "zed", "claude", "jiyi"})

MAX_URI_CHARACTERS = 2_000

_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_OWN_SCHEME = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")


def find_redirect_problem(uri: object) -> str | None:
    """Return why a redirect URI is not acceptable, None where it is.

    Acceptable are https, http of this very machine (any port then matches), and schemes of an application's own, such
    as ``com.example.app:/callback``.
    """
    if not isinstance(uri, str) or not _PRINTABLE.fullmatch(uri) or len(uri) > MAX_URI_CHARACTERS:
        return f"A redirect URI must be printable ASCII of at most {MAX_URI_CHARACTERS:,} characters."
    try:
        parts = urlsplit(uri)
        host = parts.hostname
        _port = parts.port
    except ValueError:
        return "A redirect URI must be a valid URI."
    if "#" in uri or "@" in parts.netloc or "\\" in uri:
        return "A redirect URI must have no fragment, no credentials and no backslash."
    if parts.scheme == "https":
        return None if host else "A redirect URI with https must have a host."
    if parts.scheme == "http":
        return None if host in LOOPBACK else "A redirect URI with http must be one of this machine: use https."
    if parts.scheme in APP_SCHEMES or _OWN_SCHEME.fullmatch(parts.scheme):
        return None
    return "A redirect URI must use https, http on localhost, or a scheme of the application's own."


# Endpoints

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
                error="invalid_target", description="This server has no such resource.", state=credentials.get("state")
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
