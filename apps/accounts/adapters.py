"""What django-allauth asks of us: who is let in, in which steps, and how secrets are kept. Named in the settings."""

from __future__ import annotations

from typing import Any, NoReturn

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.providers.base.constants import AuthError
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts.models import User
from apps.accounts.problems import answer_problem
from apps.accounts.services.oidc import is_allowed_email, is_configured, is_taken, make_app
from apps.accounts.services.passwords import may_have_password
from apps.accounts.services.two_factor import SECRET_PURPOSE
from apps.core.encryption import decrypt, encrypt

logger = structlog.get_logger(__name__)


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


class SignInAdapter(DefaultSocialAccountAdapter):
    """Lets in who is connected, and makes accounts where that is wanted (`apps.accounts.services.oidc`)."""

    def list_apps(self, request: HttpRequest, provider: str | None = None, client_id: str | None = None) -> list[Any]:
        app = make_app()
        return [app] if is_configured() and provider in (None, app.provider, app.provider_id) else []

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        if not is_allowed_email(sociallogin.verified_email):
            self._refuse(request, "domain")
        if sociallogin.is_existing and not may_have_password(sociallogin.user):
            self._refuse(request, "not_allowed")
        connects = sociallogin.state.get("process") == "connect"
        if connects and sociallogin.is_existing and sociallogin.user != request.user:
            self._refuse(request, "connected_other")

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        if is_taken(sociallogin.verified_email):
            self._refuse(request, "email_taken")
        if not settings.OIDC_AUTO_CREATE:
            self._refuse(request, "unknown")
        return True

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> User:
        """Make an account without a password, and connect it."""
        user: User = sociallogin.user
        user.set_unusable_password()
        get_account_adapter(request).populate_username(request, user)
        with transaction.atomic():
            user.save()
            sociallogin.account.user = user
            sociallogin.account.save()
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("admin:security")

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: Any = None,
    ) -> None:
        logger.warning("oidc.failed", reason=str(error), cause=type(exception).__name__ if exception else "")
        self._refuse(request, "cancelled" if error == AuthError.CANCELLED else "failed")

    def _refuse(self, request: HttpRequest, reason: str) -> NoReturn:
        raise ImmediateHttpResponse(answer_problem(request, reason))


class TwoFactorAdapter(DefaultMFAAdapter):
    """Keeps secrets encrypted, and names the account in the app that shows the codes."""

    def get_totp_label(self, user: User) -> str:
        return user.get_username()

    def encrypt(self, text: str) -> str:
        return encrypt(text, purpose=SECRET_PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text, purpose=SECRET_PURPOSE)
