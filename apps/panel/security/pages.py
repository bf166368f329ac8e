"""How one logs in, and where one is logged in: everybody's own, never anybody else's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.services.passwords import change_password
from apps.accounts.services.sessions import OpenSession, end_other_sessions, end_session, list_sessions
from apps.panel.pages import PanelPage
from apps.panel.security.browsers import name_browser, name_system
from apps.panel.security.forms import PasswordForm


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session in words."""

    session: OpenSession
    title: str


class LoginSettingsPage(PanelPage):
    """What the pages below have in common: one page shows it all."""

    title = gettext_lazy("Login and security")
    template_name = "panel/security/page.html"

    def show(self, request: HttpRequest, *, status: int = 200, **context: Any) -> HttpResponse:
        """Answer with the page; `context`: a form that was refused."""
        user = cast(User, request.user)
        rows = [SessionRow(one, _name(one)) for one in list_sessions(request=request, now=timezone.now())]
        everything = {"has_password": user.has_usable_password(), "rows": rows, "password_form": None, **context}
        return self.render(request, status=status, **everything)

    def back(self, request: HttpRequest, done: str) -> HttpResponse:
        """To the page, which says what was done."""
        messages.success(request, done)
        return HttpResponseRedirect(reverse("admin:security"))


class SecurityPage(LoginSettingsPage):
    """GET: password and sessions."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show(request)


class PasswordPage(LoginSettingsPage):
    """POST: another password."""

    def post(self, request: HttpRequest) -> HttpResponse:
        form = PasswordForm(request, request.POST)
        if not form.is_valid():
            return self.show(request, password_form=form, status=400)
        change_password(request=request, password=form.cleaned_data["new_password1"])
        return self.back(request, _("Your password was changed. You were logged out everywhere else."))


class EndSessionPage(LoginSettingsPage):
    """POST: end a ``session``, or ``others``, all but this one."""

    def post(self, request: HttpRequest) -> HttpResponse:
        if "others" in request.POST:
            end_other_sessions(request)
            return self.back(request, _("You were logged out everywhere else."))
        named = request.POST.get("session", "")
        is_number = named.isascii() and named.isdecimal() and len(named) <= 18
        if is_number and end_session(user=cast(User, request.user), session_id=int(named)):
            return self.back(request, _("The session was ended."))
        return self.back(request, _("This session has ended already."))


def _name(session: OpenSession) -> str:
    browser, system = name_browser(session.user_agent), name_system(session.user_agent)
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown browser")
