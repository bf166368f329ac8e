"""The panel's admin site, for everybody who has an account, and in whose time zone it shows times (M7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from django import get_version
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url
from django.urls import URLPattern, URLResolver, reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language
from django.views.decorators.http import condition
from django.views.i18n import JavaScriptCatalog
from unfold.sites import UnfoldAdminSite

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.types import list_timezones

# Set by static/chat/zone.js to a name of the IANA database, percent-encoded.
COOKIE = "zone"


def read_zone(request: HttpRequest) -> ZoneInfo | None:
    """The browser's zone; for somebody whose browser has not told one yet the zone of their settings (C8).

    None without either. A name that no zone has is none.
    """
    named = unquote(request.COOKIES.get(COOKIE, ""))
    if named in list_timezones():
        return ZoneInfo(named)
    return get_settings(request.user).zone if isinstance(request.user, User) else None


# In a browser, before it asks whether they are still the same.
SECONDS_TEXTS_ARE_KEPT = 3600


class PanelSite(UnfoldAdminSite):
    """Lets in every active account; what one sees there is each page's matter (`apps.panel.owned`).

    One logs in at the same page as for the chat.
    """

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """Pages show times in the browser's zone; `PanelAuthorMiddleware` ends that with the answer."""

        @wraps(view)
        def show(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if zone := read_zone(request):
                timezone.activate(zone)
            return view(request, *args, **kwargs)

        answer: Callable[..., Any] = super().admin_view(show, cacheable)
        return answer

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        following = request.GET.get(REDIRECT_FIELD_NAME, "")
        if not url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure()):
            following = reverse("admin:index")
        if self.has_permission(request):
            return HttpResponseRedirect(resolve_url(following))
        return redirect_to_login(following)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """One changes one's password where one's sessions are, too."""
        return HttpResponseRedirect(reverse("admin:security"))

    def i18n_javascript(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """The texts of Django's scripts: as long as language and Django's version are the same, so are they."""
        return _answer_texts(request)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """With the pages that belong to this one, which are only looked for where they are shown."""
        from apps.panel.menu import list_more, list_tabs

        context: dict[str, Any] = super().each_context(request)
        return {**context, "list_tabs": partial(list_tabs, request), "list_more": partial(list_more, request)}

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Made where it is read: every page has it in its context, and none shows it (`apps.panel.menu`)."""
        return SimpleLazyObject(partial(super().get_app_list, request, app_label))

    def extra_urls(self) -> list[URLPattern | URLResolver]:
        from apps.panel.urls import list_pages

        return list_pages(self)


def _name_texts(request: HttpRequest) -> str:
    return f'"{get_language()}-{get_version()}"'


@condition(etag_func=_name_texts)
def _answer_texts(request: HttpRequest) -> HttpResponseBase:
    response = JavaScriptCatalog.as_view(packages=["django.contrib.admin"])(request)
    patch_cache_control(response, private=True, max_age=SECONDS_TEXTS_ARE_KEPT)
    patch_vary_headers(response, ["Accept-Language", "Cookie"])  # by which the language is chosen
    return response
