"""The page on which a person decides whether an application may use their memory."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.models import get_application_model
from oauth2_provider.views import AuthorizationView
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error

from apps.accounts.types import Scope
from apps.gateway.oauth.addresses import get_base_url, list_resources
from apps.gateway.oauth.redirects import describe_target


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
