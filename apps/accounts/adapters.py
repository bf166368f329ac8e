"""What django-allauth asks of us: who is let in, in which steps, and how secrets are kept. Named in the settings."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts.models import User
from apps.accounts.services.passwords import may_have_password
from apps.accounts.services.two_factor import SECRET_PURPOSE
from apps.core.encryption import decrypt, encrypt


class AccountAdapter(DefaultAccountAdapter):
    """Lets in whom a password lets in, after the second factor where there is one. Nobody signs up by a form."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_login_stages(self) -> list[str]:
        return ["apps.accounts.stages.SecondFactorStage"]

    def pre_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse | None:
        if not may_have_password(user):
            return self.respond_user_inactive(request, user)
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        return HttpResponseRedirect(reverse("login"))

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Our pages say themselves what was done."""


class TwoFactorAdapter(DefaultMFAAdapter):
    """Keeps secrets encrypted, and names the account in the app that shows the codes."""

    def get_totp_label(self, user: User) -> str:
        return user.get_username()

    def encrypt(self, text: str) -> str:
        return encrypt(text, purpose=SECRET_PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text, purpose=SECRET_PURPOSE)
