"""The page on which one logs in."""

from __future__ import annotations

from typing import Any

from allauth.account.utils import perform_login
from django import forms
from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts.services.guessing import get_lock
from apps.accounts.services.identity import MAX_USERNAME
from apps.accounts.services.oidc import is_configured

_MALFORMED = ("max_length", "null_characters_not_allowed")


class LoginForm(AuthenticationForm):
    """Django's, which leaves the length of the name to the browser."""

    username = UsernameField(max_length=MAX_USERNAME, widget=forms.TextInput(attrs={"autofocus": True}))


class LoginPage(views.LoginView):
    """Who is locked out is told how long; whether the password was right, nobody is told meanwhile."""

    form_class = LoginForm

    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Let in who has a password only; ask everybody else for the second factor."""
        return perform_login(self.request, form.get_user(), redirect_url=self.get_success_url())

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        malformed = any(form.has_error(name, code) for name in form.fields for code in _MALFORMED)
        answer = {"status": 400} if malformed else describe_lock(self.request)
        return self.render_to_response(self.get_context_data(form=form), **answer)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            locked_minutes=count_minutes(self.request),
            sends_mail=settings.SENDS_MAIL,
            service=settings.OIDC_NAME if is_configured() else "",
            **kwargs,
        )


def count_minutes(request: HttpRequest) -> int | None:
    """How long the request's account is locked out, as its page says it."""
    lock = get_lock(request)
    return lock.minutes(timezone.now()) if lock else None


def describe_lock(request: HttpRequest) -> dict[str, Any]:
    """Status and headers of the page for who is locked out; nothing for everybody else."""
    lock = get_lock(request)
    if lock is None:
        return {}
    seconds = max(1, round((lock.until - timezone.now()).total_seconds()))
    return {"status": 429, "headers": {"Retry-After": str(seconds)}}
