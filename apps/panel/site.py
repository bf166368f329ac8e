"""The panel's admin site: for everybody who has an account, staff or not (M7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from unfold.sites import UnfoldAdminSite

from apps.accounts.models import User
from apps.accounts.selectors import get_settings


class PanelSite(UnfoldAdminSite):
    """Lets in every active account; what one sees there is each page's matter (`apps.panel.owned`).

    One logs in at the same page as for the chat.
    """

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """Pages show times in the zone of who asks; `PanelAuthorMiddleware` ends that with the answer."""

        @wraps(view)
        def show(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if isinstance(request.user, User):
                timezone.activate(get_settings(request.user).zone)
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

    def extra_urls(self) -> list[URLPattern]:
        """The pages that are not about one table, before the site's own."""
        from apps.panel.urls import list_pages

        return list_pages(self)
