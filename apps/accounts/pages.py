"""The pages of logging in: password, second factor, another service, a forgotten password."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.decorators import login_stage_required
from allauth.account.utils import perform_login
from allauth.mfa.stages import AuthenticateStage
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django import forms
from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm, PasswordResetForm, UsernameField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django.views.generic import FormView
from requests import RequestException

from apps.accounts.login import answer_problem
from apps.accounts.models import User
from apps.accounts.services.credentials import allow_reset_mail, may_have_password, send_reset_mails, verify_code
from apps.accounts.services.login_lockout import admit_attempt, find_lock, forgive_attempts, get_lock, note_lock
from apps.accounts.services.oidc import OidcAdapter, ServiceUnavailable, begin_sign_in, get_provider_id, is_configured
from apps.accounts.services.people import MAX_USERNAME
from apps.core.access import get_client_network

_MALFORMED = ("max_length", "null_characters_not_allowed")


# The password


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
        return super().get_context_data(sends_mail=settings.SENDS_MAIL, **kwargs)


class ResetSentPage(views.PasswordResetDoneView):
    """Says that mail is on its way, if somebody has the address."""

    template_name = "registration/reset_sent.html"


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


class ResetDonePage(views.PasswordResetCompleteView):
    """Leads to the page on which one logs in."""

    template_name = "registration/reset_done.html"
