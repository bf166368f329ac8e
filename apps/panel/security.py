"""How one logs in and where one is logged in; for staff, whose login is locked."""

from __future__ import annotations

import re
from typing import Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.forms import SetPasswordForm
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import LoginAttempt, User
from apps.accounts.services.credentials import (
    begin_setup,
    change_password,
    confirm_identity,
    confirm_password,
    find_two_factor,
    renew_recovery_codes,
    switch_off,
    switch_on,
)
from apps.accounts.services.login_lockout import Lock, LockedOut, get_cool_off, unlock, with_limits
from apps.accounts.services.oidc import ServiceUnavailable, begin_sign_in, disconnect, is_configured, list_links
from apps.accounts.services.sessions import OpenSession, end_other_sessions, end_session, list_sessions, read_account
from apps.core.errors import Conflict
from apps.panel.owned import StaffAdmin, column, sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.refusals import translate_reason
from apps.panel.templatetags.panel import age, chip
from apps.panel.texts import read_number

_BROWSERS = (
    ("Edge", r"Edge?A?(?:iOS)?/"),
    ("Opera", r"OPR/|Opera"),
    ("Samsung Internet", r"SamsungBrowser/"),
    ("WeChat", r"MicroMessenger/"),
    ("Firefox", r"Firefox/|FxiOS/"),
    ("Chrome", r"Chrome/|CriOS/|Chromium/"),
    ("Safari", r"Version/\S+.* Safari/"),
)

# Names and how they are recognised, in this order: most call themselves what others do, too.
_SYSTEMS = (
    ("iPhone", r"iPhone"),
    ("iPad", r"iPad"),
    ("Android", r"Android"),
    ("Windows", r"Windows"),
    ("macOS", r"Mac OS X|Macintosh"),
    ("ChromeOS", r"CrOS"),
    ("Linux", r"Linux|X11"),
)


def _find(names: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for name, pattern in names if re.search(pattern, text[:500])), "")


def check_password(request: HttpRequest, password: str) -> str:
    """Return why the password of who is logged in is not accepted; empty where it is."""
    try:
        return "" if confirm_password(request=request, password=password) else _("This password is not correct.")
    except LockedOut as error:
        return explain_lock(error)


def check_identity(request: HttpRequest) -> str:
    """The same for what the field ``proof`` holds: the password or, of an account without one, a code."""
    try:
        if confirm_identity(request=request, proof=request.POST.get("proof", "")):
            return ""
    except LockedOut as error:
        return explain_lock(error)
    if read_account(request).has_usable_password():
        return _("This password is not correct.")
    return _("This code is not correct, or was used already.")


def explain_lock(error: LockedOut) -> str:
    minutes = error.lock.minutes(timezone.now())
    text = ngettext(
        "Too many failed attempts. Try again in %(minutes)s minute.",
        "Too many failed attempts. Try again in %(minutes)s minutes.",
        minutes,
    )
    return text % {"minutes": minutes}


class PasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """One's own new password, with the present one, which is looked at last."""

    old_password = forms.CharField(strip=False)

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self._request = request
        assert isinstance(request.user, User), "the site lets nobody else in"
        super().__init__(request.user, *args, **kwargs)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and (problem := check_password(self._request, cleaned["old_password"])):
            self.add_error("old_password", problem)
        return cleaned


class LoginSettingsPage(PanelPage):
    """What the pages below have in common: one page shows it all."""

    title = gettext_lazy("Login and security")
    template_name = "panel/security/page.html"

    def show(self, request: HttpRequest, *, status: int = 200, **context: Any) -> HttpResponse:
        """Answer with the page; `context`: what was refused, and why."""
        user = cast(User, request.user)
        known = {
            "has_password": user.has_usable_password(),
            "two_factor": find_two_factor(user),
            "service": settings.OIDC_NAME if is_configured() else "",
            "links": list_links(user) if is_configured() else [],
            "rows": [(one, _name(one)) for one in list_sessions(request=request, now=timezone.now())],
            "password_form": None,
            "problem": "",
        }
        return self.render(request, status=status, **{**known, **context})

    def back(self, request: HttpRequest, done: str) -> HttpResponse:
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


class ConfirmedPage(LoginSettingsPage):
    """POST: `act`, once it is known who asks; else the page, where ``refused`` is set, says why not."""

    refused: ClassVar[str]

    def post(self, request: HttpRequest) -> HttpResponseBase:
        if problem := check_identity(request):
            return self.refuse(request, problem, status=400)
        return self.act(request)

    def refuse(self, request: HttpRequest, problem: str, *, status: int) -> HttpResponse:
        return self.show(request, status=status, problem=problem, **{self.refused: True})

    def act(self, request: HttpRequest) -> HttpResponseBase:
        raise NotImplementedError


class RecoveryCodesPage(ConfirmedPage):
    """POST: new recovery codes, which are shown, this once."""

    refused = "codes_refused"

    def act(self, request: HttpRequest) -> HttpResponse:
        try:
            codes = renew_recovery_codes(user=cast(User, request.user))
        except Conflict as error:
            messages.error(request, translate_reason(error.message))
            return HttpResponseRedirect(reverse("admin:security"))
        return show_codes(self, request, codes)


class TwoFactorOffPage(ConfirmedPage):
    """POST: ask for no codes any more."""

    refused = "off_refused"

    def act(self, request: HttpRequest) -> HttpResponse:
        switch_off(user=cast(User, request.user))
        return self.back(request, _("Two-factor authentication is off."))


class ConnectPage(ConfirmedPage):
    """POST: off to the other service, to connect the account one has there."""

    refused = "connect_refused"

    def post(self, request: HttpRequest) -> HttpResponseBase:
        if not is_configured():
            raise Http404
        return super().post(request)

    def act(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return begin_sign_in(request, next_url=reverse("admin:security"), connect=True)
        except ServiceUnavailable:
            problem = _("The service cannot be reached at the moment. Try again later.")
            return self.refuse(request, problem, status=502)


class DisconnectPage(LoginSettingsPage):
    """POST: ``link``, the account of the other service that shall log in no more."""

    def post(self, request: HttpRequest) -> HttpResponse:
        link = read_number(request.POST.get("link"))
        if link is not None and disconnect(user=cast(User, request.user), link_id=link):
            return self.back(request, _("It was disconnected."))
        messages.error(request, _("It was not disconnected: you have no other way to log in."))
        return HttpResponseRedirect(reverse("admin:security"))


class EndSessionPage(LoginSettingsPage):
    """POST: end a ``session``, or ``others``, all but this one."""

    def post(self, request: HttpRequest) -> HttpResponse:
        if "others" in request.POST:
            end_other_sessions(request)
            return self.back(request, _("You were logged out everywhere else."))
        session = read_number(request.POST.get("session"))
        if session is not None and end_session(user=cast(User, request.user), session_id=session):
            return self.back(request, _("The session was ended."))
        return self.back(request, _("This session has ended already."))


def show_codes(page: PanelPage, request: HttpRequest, codes: list[str]) -> HttpResponse:
    shown = [f"{code[:4]} {code[4:]}" for code in codes]
    return page.render(request, template="panel/security/codes.html", codes=shown, text="\n".join(shown))


def _name(session: OpenSession) -> str:
    browser, system = _find(_BROWSERS, session.user_agent), _find(_SYSTEMS, session.user_agent)
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown browser")


def _is_locked() -> Q:
    """Of rows `with_limits`: those at whose account and address no password is looked at."""
    return Q(attempt_time__gt=timezone.now() - get_cool_off()) & (
        Q(failures_since_start__gte=settings.LOGIN_FAILURE_LIMIT)
        | Q(of_account__gte=settings.LOGIN_FAILURE_LIMIT_ACCOUNT)
        | Q(of_address__gte=settings.LOGIN_FAILURE_LIMIT_ADDRESS)
    )


class LockedFilter(admin.SimpleListFilter):
    """Narrows the list to who is locked out."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("locked", _("Locked out"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(_is_locked()) if self.value() == "locked" else queryset


@admin.register(LoginAttempt)
class LoginAttemptAdmin(StaffAdmin):
    """For staff. Who may change accounts may unlock them, by forgetting the attempts."""

    list_display = ("username", "address", "failures", "last_attempt", "state", "let_in")
    list_display_links = None
    list_filter = (LockedFilter,)
    search_fields = ("username", "ip_address")
    fields = readonly_fields = ("username", "address", "failures", "last_attempt", "state")
    ordering = ("-attempt_time",)
    actions = ("unlock_selected",)
    delete_confirmation_template = "panel/accounts/unlock.html"

    class Media:
        css = {"all": ("panel/accounts.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[LoginAttempt]:
        return with_limits(super().get_queryset(request), now=timezone.now())

    @admin.display(description=gettext_lazy("IP address"), ordering="ip_address")
    def address(self, attempt: LoginAttempt) -> SafeString | str:
        if not attempt.ip_address:
            return "–"
        network = "/64" if ":" in attempt.ip_address else ""
        return format_html("<code>{}{}</code>", attempt.ip_address, network)

    failures = column(
        gettext_lazy("failures"), lambda attempt: int(attempt.failures_since_start), ordering="failures_since_start"
    )
    last_attempt = column(
        gettext_lazy("last attempt"), lambda attempt: age(attempt.attempt_time), ordering="attempt_time"
    )

    @admin.display(description=gettext_lazy("state"))
    def state(self, attempt: Any) -> SafeString | str:
        now = timezone.now()
        lock = Lock(until=attempt.attempt_time + get_cool_off())
        if lock.until <= now:
            return chip(_("over"))
        reasons = (
            (attempt.failures_since_start, settings.LOGIN_FAILURE_LIMIT, _("Locked out")),
            (attempt.of_account, settings.LOGIN_FAILURE_LIMIT_ACCOUNT, _("Account locked out")),
            (attempt.of_address, settings.LOGIN_FAILURE_LIMIT_ADDRESS, _("Address locked out")),
        )
        for failures, limit, words in reasons:
            if failures >= limit:
                minutes = lock.minutes(now)
                time = ngettext("%(count)s more minute", "%(count)s more minutes", minutes) % {"count": minutes}
                return format_html('<span class="chip chip--red">{}</span> <span class="muted">{}</span>', words, time)
        return chip(_("counted"), "amber")

    @admin.display(description=gettext_lazy("access"))
    def let_in(self, attempt: LoginAttempt) -> SafeString:
        address = reverse("admin:accounts_loginattempt_delete", args=[attempt.pk])
        return format_html('<a class="row-link" href="{}">{}</a>', address, _("Unlock…"))

    @admin.action(description=gettext_lazy("Unlock"), permissions=["delete"])
    def unlock_selected(self, request: HttpRequest, queryset: QuerySet[LoginAttempt]) -> None:
        count = unlock(LoginAttempt.objects.filter(pk__in=queryset.values("pk")))
        text = ngettext("%(count)s entry was unlocked.", "%(count)s entries were unlocked.", count)
        self.message_user(request, text % {"count": count}, messages.SUCCESS)

    def delete_model(self, request: HttpRequest, obj: LoginAttempt) -> None:
        unlock(LoginAttempt.objects.filter(pk=obj.pk))

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        self.message_user(request, _("The account can log in from this address again."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:accounts_loginattempt_changelist"))

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        shown = self.list_display
        return shown if self.has_delete_permission(request) else shown[:-1]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_everybody(request) and request.user.has_perm("accounts.change_user")
