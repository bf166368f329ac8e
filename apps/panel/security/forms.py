"""The forms of one's own login."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import SetPasswordForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.accounts.services.credentials import confirm_identity, confirm_password
from apps.accounts.services.login_lockout import LockedOut
from apps.accounts.services.sessions import read_account


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
    """How long to wait, in words."""
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
