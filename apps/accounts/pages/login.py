"""The page on which one logs in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpResponse
from django.utils import timezone

from apps.accounts.services.guessing import get_lock


class LoginPage(views.LoginView):
    """Who is locked out is told how long; whether the password was right, nobody is told meanwhile."""

    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        lock = get_lock(self.request)
        if lock is None:
            return super().form_invalid(form)
        context = self.get_context_data(form=form, locked_minutes=lock.minutes(now := timezone.now()))
        seconds = max(1, round((lock.until - now).total_seconds()))
        return self.render_to_response(context, status=429, headers={"Retry-After": str(seconds)})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        known = {"locked_minutes": None, "sends_mail": settings.SENDS_MAIL}
        return super().get_context_data(**{**known, **kwargs})
