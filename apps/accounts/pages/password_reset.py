"""The pages on which one who forgot the password gets another, by a link that was mailed or handed over."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.forms import PasswordResetForm
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse_lazy

from apps.accounts.models import User
from apps.accounts.services.guessing import forgive_attempts
from apps.accounts.services.passwords import allow_reset_mail, may_have_password, send_reset_mails
from apps.core.client_address import get_client_network


class AskPage(views.PasswordResetView):
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


class SentPage(views.PasswordResetDoneView):
    """Says that mail is on its way, if somebody has the address."""

    template_name = "registration/reset_sent.html"


class SetPage(views.PasswordResetConfirmView):
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


class DonePage(views.PasswordResetCompleteView):
    """Leads to the page on which one logs in."""

    template_name = "registration/reset_done.html"
