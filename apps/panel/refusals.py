"""What services refuse, in the language of the page: beside what was typed, or as a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from apps.core.errors import JiyiError

# Reasons that services compose; all others are marked where they are raised.
_REASONS = (
    gettext_noop("Must have at most 200 characters."),
    gettext_noop("Must be a list of at most 50 tags."),
    gettext_noop("Each tag must be text of 1 to 50 characters."),
    gettext_noop("The value has over 32,000 characters of JSON."),
    gettext_noop("The content has over 32,000 characters."),
    gettext_noop("Must be a number of requests and a period, such as 60/min (sec, min, hour or day)."),
    gettext_noop("Must have 32 to 1,000 bytes."),
    gettext_noop("There are 20 webhooks already. Delete one first."),
    gettext_noop("Must not contain a secret: this looks like an API key."),
    gettext_noop("Must not contain a secret: this looks like an access token."),
    gettext_noop("Must not contain a secret: this looks like a password."),
    gettext_noop("Must not contain a secret: this looks like a PIN."),
    gettext_noop("Must not contain a secret: this looks like a one-time code."),
    gettext_noop("Must not contain a secret: this looks like a private key."),
    gettext_noop("Must not contain a secret: this looks like a recovery phrase."),
    gettext_noop("Must not contain a secret: this looks like a card number."),
    gettext_noop("Must not contain a secret: this looks like a bank account number."),
    gettext_noop("Must not contain a secret: this looks like an identity number."),
)


def translate_reason(reason: str) -> str:
    """Return what a service says in the language of the page; as it stands where there is no translation."""
    return gettext(reason) if reason else reason


def list_reasons(error: JiyiError) -> str:
    """Return everything that a service says is wrong, in the language of the page."""
    reasons = [reason for found in error.fields.values() for reason in found] or [error.message]
    return " ".join(map(translate_reason, reasons))


def add_refusal(form: BaseForm, error: JiyiError) -> None:
    """Show a service's error beside the form's fields, or above them all."""
    reasons = {name: reasons for name, reasons in error.fields.items() if name in form.fields}
    if not reasons:
        form.add_error(None, translate_reason(error.message))
    for name, given in reasons.items():
        form.add_error(name, [translate_reason(reason) for reason in given])


class RefusalsShown:
    """Mixed into a page before its base: shows why a service refused.

    Django's pages call services where they save and delete, and expect nothing to fail there.
    """

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)  # type: ignore[misc]  # the base's
        refusal: JiyiError | None = getattr(request, "refusal", None)
        return form if refusal is None else _refuse(form, refusal)

    def changeform_view(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        page: Any = super()
        response: HttpResponse
        try:
            response = page.changeform_view(request, *args, **kwargs)
        except JiyiError as error:
            request.refusal = error
            # Nothing was saved: now the form with the reason and all that was typed, or that the row is gone.
            response = page.changeform_view(request, *args, **kwargs)
        return response

    def delete_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._tell_refusal(super().delete_view, *args, **kwargs)  # type: ignore[misc]  # the base's

    def changelist_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._tell_refusal(super().changelist_view, *args, **kwargs)  # type: ignore[misc]

    def response_action(self, request: HttpRequest, queryset: Any) -> Any:
        """Do what was chosen with all the selected rows, or with none where it is refused for one."""
        page: Any = super()
        with transaction.atomic():
            return page.response_action(request, queryset)

    def _tell_refusal(self, view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response: HttpResponse = view(request, *args, **kwargs)
            return response
        except JiyiError as error:
            messages.error(request, translate_reason(error.message))
        page: Any = self
        url = reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_changelist")
        if request.method == "POST":  # the list as it was; one that could not even be shown is not asked for again
            filters = {"opts": page.opts, "preserved_filters": page.get_preserved_filters(request)}
            url = add_preserved_filters(filters, url)
        return HttpResponseRedirect(url)


def _refuse(form: Any, refusal: JiyiError) -> Any:

    def clean(self: Any) -> Any:
        cleaned = form.clean(self)
        add_refusal(self, refusal)
        return cleaned

    return type(form.__name__, (form,), {"clean": clean})
