"""Signing in with another service: off to it, and back."""

from __future__ import annotations

from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from requests import RequestException

from apps.accounts.problems import answer_problem
from apps.accounts.services.oidc import OidcAdapter, ServiceUnavailable, begin_sign_in, get_provider_id, is_configured


@never_cache
@require_POST
def start(request: HttpRequest) -> HttpResponseBase:
    """Off to the service. ``next``: where to go afterwards."""
    if not is_configured():
        raise Http404
    following = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure()):
        following = ""
    try:
        return begin_sign_in(request, next_url=following)
    except ServiceUnavailable:
        return answer_problem(request, "unavailable")


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponseBase:
    """Back from the service."""
    if not is_configured():
        raise Http404
    view = OAuth2CallbackView.adapter_view(OidcAdapter(request, get_provider_id()))
    try:
        response: HttpResponse = view(request)
    except (RequestException, OAuth2Error, ValueError, KeyError, AttributeError):
        return answer_problem(request, "failed")
    return response
