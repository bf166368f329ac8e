"""The page that asks for the second factor."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.decorators import login_stage_required
from allauth.mfa.stages import AuthenticateStage
from django import forms
from django.http import HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.generic import FormView

from apps.accounts.pages.login import count_minutes, describe_lock
from apps.accounts.services.guessing import admit_attempt, find_lock, note_lock
from apps.accounts.services.two_factor import verify_code
from apps.core.client_address import get_client_network


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
