"""What services refuse, on the pages of Django's admin: beside what was typed, or as a message."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.core.errors import JiyiError
from apps.panel.reasons import translate_reason


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
    """The form's class, not valid for this reason."""

    def clean(self: Any) -> Any:
        cleaned = form.clean(self)
        add_refusal(self, refusal)
        return cleaned

    return type(form.__name__, (form,), {"clean": clean})
