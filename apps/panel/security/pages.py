"""How one logs in, and where one is logged in: everybody's own, never anybody else's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.services.credentials import (
    begin_setup,
    change_password,
    find_two_factor,
    renew_recovery_codes,
    switch_off,
    switch_on,
)
from apps.accounts.services.oidc import ServiceUnavailable, begin_sign_in, disconnect, is_configured, list_links
from apps.accounts.services.sessions import OpenSession, end_other_sessions, end_session, list_sessions
from apps.core.errors import Conflict
from apps.panel.pages import PanelPage
from apps.panel.reasons import translate_reason
from apps.panel.security.browsers import name_browser, name_system
from apps.panel.security.forms import PasswordForm, check_identity


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
        """Answer with the page; `context`: what was refused, and why."""
        user = cast(User, request.user)
        rows = [SessionRow(one, _name(one)) for one in list_sessions(request=request, now=timezone.now())]
        known = {
            "has_password": user.has_usable_password(),
            "two_factor": find_two_factor(user),
            "service": settings.OIDC_NAME if is_configured() else "",
            "links": list_links(user) if is_configured() else [],
            "rows": rows,
            "password_form": None,
            "problem": "",
        }
        return self.render(request, status=status, **{**known, **context})

    def back(self, request: HttpRequest, done: str) -> HttpResponse:
        """To the page, which says what was done."""
        messages.success(request, done)
        return HttpResponseRedirect(reverse("admin:security"))


class SecurityPage(LoginSettingsPage):
    """GET: password, second factor and sessions."""

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


class TwoFactorPage(LoginSettingsPage):
    """GET: a QR code for an app. POST: ask for its codes from now on; the recovery codes are shown, this once."""

    title = gettext_lazy("Two-factor authentication")
    template_name = "panel/security/two_factor.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        if find_two_factor(cast(User, request.user)):
            return HttpResponseRedirect(reverse("admin:security"))
        return self._show_setup(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        if problem := check_identity(request):
            return self._show_setup(request, status=400, proof_problem=problem)
        user, sealed = cast(User, request.user), request.POST.get("sealed", "")
        try:
            codes = switch_on(user=user, sealed=sealed, code=request.POST.get("code", ""))
        except Conflict as error:
            messages.error(request, translate_reason(error.message))
            return HttpResponseRedirect(reverse("admin:security"))
        if codes is None:
            problem = _("This code is not correct. Check that the clock of your phone is right.")
            return self._show_setup(request, status=400, code_problem=problem)
        return show_codes(self, request, codes)

    def _show_setup(self, request: HttpRequest, *, status: int = 200, **problems: str) -> HttpResponse:
        user = cast(User, request.user)
        setup = begin_setup(user, sealed=request.POST.get("sealed", ""))
        return self.render(request, status=status, setup=setup, has_password=user.has_usable_password(), **problems)


class RecoveryCodesPage(LoginSettingsPage):
    """POST: new recovery codes, which are shown, this once."""

    def post(self, request: HttpRequest) -> HttpResponse:
        if problem := check_identity(request):
            return self.show(request, status=400, codes_refused=True, problem=problem)
        try:
            codes = renew_recovery_codes(user=cast(User, request.user))
        except Conflict as error:
            messages.error(request, translate_reason(error.message))
            return HttpResponseRedirect(reverse("admin:security"))
        return show_codes(self, request, codes)


class TwoFactorOffPage(LoginSettingsPage):
    """POST: ask for no codes any more."""

    def post(self, request: HttpRequest) -> HttpResponse:
        if problem := check_identity(request):
            return self.show(request, status=400, off_refused=True, problem=problem)
        switch_off(user=cast(User, request.user))
        return self.back(request, _("Two-factor authentication is off."))


class ConnectPage(LoginSettingsPage):
    """POST: off to the other service, to connect the account one has there."""

    def post(self, request: HttpRequest) -> HttpResponseBase:
        if not is_configured():
            raise Http404
        if problem := check_identity(request):
            return self.show(request, status=400, connect_refused=True, problem=problem)
        try:
            return begin_sign_in(request, next_url=reverse("admin:security"), connect=True)
        except ServiceUnavailable:
            problem = _("The service cannot be reached at the moment. Try again later.")
            return self.show(request, status=502, connect_refused=True, problem=problem)


class DisconnectPage(LoginSettingsPage):
    """POST: ``link``, the account of the other service that shall log in no more."""

    def post(self, request: HttpRequest) -> HttpResponse:
        named = request.POST.get("link", "")
        is_number = named.isascii() and named.isdecimal() and len(named) <= 18
        if is_number and disconnect(user=cast(User, request.user), link_id=int(named)):
            return self.back(request, _("It was disconnected."))
        messages.error(request, _("It was not disconnected: you have no other way to log in."))
        return HttpResponseRedirect(reverse("admin:security"))


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


def show_codes(page: PanelPage, request: HttpRequest, codes: list[str]) -> HttpResponse:
    """Answer with recovery codes, which are shown nowhere else."""
    shown = [f"{code[:4]} {code[4:]}" for code in codes]
    return page.render(request, template="panel/security/codes.html", codes=shown, text="\n".join(shown))


def _name(session: OpenSession) -> str:
    browser, system = name_browser(session.user_agent), name_system(session.user_agent)
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown browser")
