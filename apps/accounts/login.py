"""Let people in: what Django and django-allauth ask of us, named in the settings, and the pages of logging in.

Who may log in, in which steps, how secrets are kept, and when a session was used.
"""

from __future__ import annotations

from typing import Any, NoReturn

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.internal.decorators import login_stage_required
from allauth.account.utils import perform_login
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.stages import AuthenticateStage
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.providers.base.constants import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from asgiref.sync import sync_to_async
from django import forms
from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.forms import AuthenticationForm, PasswordResetForm, UsernameField
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django.views.generic import FormView
from requests import RequestException

from apps.accounts.models import User
from apps.accounts.services.credentials import (
    SECRET_PURPOSE,
    allow_reset_mail,
    may_have_password,
    send_reset_mails,
    verify_code,
)
from apps.accounts.services.login_lockout import admit_attempt, find_lock, forgive_attempts, get_lock, note_lock
from apps.accounts.services.oidc import (
    OidcAdapter,
    ServiceUnavailable,
    begin_sign_in,
    get_provider_id,
    is_allowed_email,
    is_configured,
    is_taken,
    make_app,
)
from apps.accounts.services.people import MAX_USERNAME
from apps.accounts.services.sessions import note_session, noted_sessions
from apps.core.access import get_client_network
from apps.core.middleware import Inline
from apps.core.secret_key import decrypt, encrypt

logger = structlog.get_logger(__name__)

# What another service calls a second factor, or one that needs no other (RFC 8176).
STRONG = frozenset({"mfa", "otp", "hwk"})

# Status and words, by the reason for which signing in with another service came to nothing.
PROBLEMS = {
    "cancelled": (400, _("You cancelled the login there. Nothing was changed.")),
    "failed": (401, _("The login there could not be verified. Try again.")),
    "unavailable": (502, _("The service cannot be reached at the moment. Try again later.")),
    "unknown": (
        403,
        _("No account here is connected to this one yet. Log in with your password and connect it under Settings › "
          "Login and security, or ask an administrator for an account."),
    ),
    "email_taken": (
        403,
        _("There is an account with your email address. Log in to it with your password and connect this one under "
          "Settings › Login and security."),
    ),
    "domain": (403, _("Accounts with your email address may not log in here.")),
    "not_allowed": (403, _("This account may not log in.")),
    "connected_other": (409, _("That login is already linked to another Jiyi account.")),
}  # fmt: skip


class PasswordBackend(ModelBackend):
    """Django's, for everybody but the end users of a service: only their service acts for them (T4).

    Attempts are counted by the request, so without one no password is looked at; nor while the account or the address
    is locked out.
    """

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> Any:
        if username is None or password is None:
            return None
        if request is None:
            raise TypeError("Logging in requires a request, by whose address attempts are counted.")
        address = get_client_network(request)
        lock = admit_attempt(username=username, address=address, now=timezone.now())
        note_lock(request, lock)
        if lock is not None:
            raise PermissionDenied("Too many failed attempts.")
        user = super().authenticate(request, username=username, password=password)
        if user is None:  # if it was the last attempt for a while, its page tells so
            note_lock(request, find_lock(username=username, address=address, now=timezone.now()))
        return user

    aauthenticate = sync_to_async(authenticate)  # Django's asks the database alone

    def user_can_authenticate(self, user: Any) -> bool:
        return super().user_can_authenticate(user) and not (isinstance(user, User) and user.service_id)


class SecondFactorStage(AuthenticateStage):
    """Asks for a code, unless who signs in through another service has given one there."""

    def _should_handle(self, request: Any) -> bool:
        social = (self.login.signal_kwargs or {}).get("sociallogin")
        methods = social.account.extra_data.get("amr") if social else None
        if isinstance(methods, list) and STRONG & {str(method) for method in methods}:
            return False
        return bool(super()._should_handle(request))


class AccountAdapter(DefaultAccountAdapter):
    """Lets in whom a password lets in, after the second factor where there is one. Nobody signs up by a form."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_login_stages(self) -> list[str]:
        return ["apps.accounts.login.SecondFactorStage"]

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


def answer_problem(request: HttpRequest, reason: str) -> HttpResponse:
    """Answer with the page that says why, with a way back."""
    status, words = PROBLEMS[reason]
    context = {"words": words, "service": settings.OIDC_NAME}
    return render(request, "registration/sign_in_problem.html", context, status=status)


class SessionUseMiddleware(Inline):
    """Notes that a browser's session was used, once in a few minutes; requests with a token have none."""

    def needs_thread(self, request: HttpRequest) -> bool:
        return _find_user_to_note(request) is not None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if user := _find_user_to_note(request):
            note_session(request, user, now=timezone.now())
        return response


def _find_user_to_note(request: HttpRequest) -> User | None:
    """Who used a session in this request, as far as somebody looked; looking would be a query."""
    user: Any = getattr(request, "_cached_user", None) or getattr(request, "_acached_user", None)
    if not isinstance(user, User):
        return None
    key = request.session.session_key
    return None if key is None or noted_sessions.has(key) else user


# The pages

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
    """Return how many minutes the request's account is locked out, as its page says it; None if it is not."""
    lock = get_lock(request)
    return lock.minutes(timezone.now()) if lock else None


def describe_lock(request: HttpRequest) -> dict[str, Any]:
    """Return status and headers of the page for who is locked out; nothing for everybody else."""
    lock = get_lock(request)
    if lock is None:
        return {}
    seconds = max(1, round((lock.until - timezone.now()).total_seconds()))
    return {"status": 429, "headers": {"Retry-After": str(seconds)}}


# The second factor


class CodeForm(forms.Form):
    """A code of an app, or a recovery code."""

    code = forms.CharField(max_length=32)


@method_decorator(login_stage_required(AuthenticateStage.key, redirect_urlname="login"), name="dispatch")
class CodePage(FormView):
    """Only for who has given a password, or comes from another service. Codes are guessed no more than passwords."""

    template_name = "registration/code.html"
    form_class = CodeForm

    def form_valid(self, form: CodeForm) -> HttpResponse:
        stage: Any = self.request._login_stage  # type: ignore[attr-defined]
        user, address = stage.login.user, get_client_network(self.request)
        username = user.get_username()
        lock = admit_attempt(username=username, address=address, now=timezone.now())
        if lock is None:
            if verify_code(user=user, code=form.cleaned_data["code"]):
                response: HttpResponse = stage.exit()
                return response
            form.add_error("code", _("This code is not correct, or was used already."))
            lock = find_lock(username=username, address=address, now=timezone.now())
        note_lock(self.request, lock)
        return self.form_invalid(form)

    def form_invalid(self, form: CodeForm) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), **describe_lock(self.request))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(locked_minutes=count_minutes(self.request), **kwargs)


# Another service


@never_cache
@require_POST
def start_oidc(request: HttpRequest) -> HttpResponseBase:
    """Send the browser to the service. ``next``: where to go afterwards."""
    if not is_configured():
        raise Http404
    following = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure()):
        following = ""
    try:
        return begin_sign_in(request, next_url=following)
    except ServiceUnavailable:
        return answer_problem(request, "unavailable")


@never_cache
@require_GET
def finish_oidc(request: HttpRequest) -> HttpResponseBase:
    """Log in who comes back from the service."""
    if not is_configured():
        raise Http404
    view = OAuth2CallbackView.adapter_view(OidcAdapter(request, get_provider_id()))
    try:
        response: HttpResponse = view(request)
    except (RequestException, OAuth2Error, ValueError, KeyError, AttributeError):
        return answer_problem(request, "failed")
    return response


# A forgotten password


class ResetAskPage(views.PasswordResetView):
    """Asks for an address, and answers the same, and as fast, whether or not somebody has it.

    Without a mail server it says who else can help.
    """

    template_name = "registration/reset_ask.html"
    success_url = reverse_lazy("password_reset_done")

    def post(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.SENDS_MAIL:
            return self.get(request)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        email = form.cleaned_data["email"]
        if allow_reset_mail(email=email, address=get_client_network(self.request)):
            base_url = settings.PUBLIC_URL or f"{self.request.scheme}://{self.request.get_host()}"
            send_reset_mails(email=email, base_url=base_url)
        return HttpResponseRedirect(self.get_success_url())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(sends_mail=settings.SENDS_MAIL, command=settings.COMMAND, **kwargs)


class ResetSetPage(views.PasswordResetConfirmView):
    """Asks for the new password. It ends every session of the account, and asks to log in."""

    template_name = "registration/reset_set.html"
    success_url = reverse_lazy("password_reset_complete")

    def get_user(self, uidb64: str) -> User | None:
        user: User | None = super().get_user(uidb64)
        return user if user is not None and may_have_password(user) else None

    def form_valid(self, form: Any) -> HttpResponse:
        assert self.user is not None, "without an account there is no form"
        forgive_attempts(username=self.user.get_username(), address=get_client_network(self.request))
        return super().form_valid(form)
