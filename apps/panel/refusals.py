"""What services refuse, in the language of the page: beside what was typed, or as a message."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from apps.core.errors import JiyiError

_REASONS = (
    gettext_noop("A memory cannot be merged with itself."),
    gettext_noop("Only active memories can be merged."),
    gettext_noop("Only an active memory can be superseded."),
    gettext_noop("Only a superseded, rejected or evicted memory can be restored."),
    gettext_noop("Must not be blank."),
    gettext_noop("Must not be null or blank."),
    gettext_noop("Must be a number from 0 to 1."),
    gettext_noop("Must have at most 200 characters."),
    gettext_noop("Must be text that is not blank."),
    gettext_noop("Must be a list of at most 50 tags."),
    gettext_noop("Each tag must be text of 1 to 50 characters."),
    gettext_noop("Another active memory already uses this key."),
    gettext_noop("Another active memory already says this."),
    gettext_noop("The value has over 32,000 characters of JSON."),
    gettext_noop("The content has over 32,000 characters."),
    gettext_noop("This memory does not exist."),
    gettext_noop("This list was changed in the meantime."),
    gettext_noop("This change does not exist."),
    gettext_noop("This was changed again later. Undo the later change first."),
    gettext_noop("Deletions cannot be undone."),
    gettext_noop("The changed item has since been deleted."),
    gettext_noop("This change was already undone."),
    gettext_noop("The shared context no longer has room for what would come back."),
    gettext_noop("Another active memory now uses this key."),
    gettext_noop("Another active memory now says this."),
    gettext_noop("The memory that replaced this one has since been deleted."),
    gettext_noop("Must be a number of requests and a period, such as 60/min (sec, min, hour or day)."),
    gettext_noop("Must have 32 to 1,000 bytes."),
    gettext_noop("An end user of a service cannot be a service."),
    gettext_noop("You cannot deactivate or delete your own account."),
    gettext_noop("Another server has this name."),
    gettext_noop("Choose at least one model."),
    gettext_noop("Stored embeddings are of a model of this server. Choose another embedding model first."),
    gettext_noop("The old embeddings are still being deleted. Try again in a few minutes."),
    gettext_noop("These two are in different spaces. Move one of them first."),
    gettext_noop("This space does not exist."),
    gettext_noop("There is no space of this name."),
    gettext_noop("Another space already has this name."),
    gettext_noop("Name another space."),
    gettext_noop("There are 20 webhooks already. Delete one first."),
    gettext_noop("Too many imports are under way. Wait until one is done, or cancel it."),
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
    gettext_noop("The last superuser cannot be deactivated or deleted."),
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

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        page: Any = super()
        response: HttpResponse
        try:
            response = page.delete_view(request, *args, **kwargs)
        except JiyiError as error:
            response = self._tell_refusal(request, error)
        return response

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        page: Any = super()
        response: HttpResponse
        try:
            response = page.changelist_view(request, *args, **kwargs)
        except JiyiError as error:
            response = self._tell_refusal(request, error)
        return response

    def response_action(self, request: HttpRequest, queryset: Any) -> Any:
        """Do what was chosen with all the selected rows, or with none where it is refused for one."""
        page: Any = super()
        with transaction.atomic():
            return page.response_action(request, queryset)

    def _tell_refusal(self, request: HttpRequest, error: JiyiError) -> HttpResponse:
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
