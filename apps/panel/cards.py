"""Lists of rows as cards, and rows as pages to read, in place of the tables and forms of Django's admin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from apps.panel.owned import sees_everybody


class CardList:
    """Mixed into a page before its base: the list shows cards.

    ``card_template`` gets each of what `describe_cards` returns as ``card``; ``empty_template`` says what to do while
    there is nothing.
    """

    change_list_template = "panel/cards/list.html"
    card_template: ClassVar[str]
    empty_template: ClassVar[str]

    def describe_cards(self, request: HttpRequest, rows: Sequence[Any]) -> Sequence[Any]:
        """What the cards of a page of rows need, in their order; each has the row as ``row``."""
        raise NotImplementedError

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context)  # type: ignore[misc]
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            rows = list(response.context_data["cl"].result_list)
            response.context_data |= {
                "cards": self.describe_cards(request, rows),
                "card_template": self.card_template,
                "empty_template": self.empty_template,
                "sees_everybody": sees_everybody(request),
            }
        return response


class ReadingPage:
    """Mixed into a page before its base: a row is shown by ``change_form_template``, with what `describe` returns."""

    def describe(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the template needs."""
        raise NotImplementedError

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response: HttpResponse = super().change_view(request, object_id, form_url, extra_context)  # type: ignore[misc]
        if isinstance(response, TemplateResponse) and response.context_data and response.context_data.get("original"):
            response.context_data["sees_everybody"] = sees_everybody(request)
            response.context_data |= self.describe(request, response.context_data["original"])
        return response


class ShownPage:
    """Mixed into a page before its base: a row is read on a page of its own, which is no form (`show`).

    What is sent to it, and adding, stay Django's.
    """

    def find(self, request: HttpRequest, key: UUID) -> Any:
        """The row, if who asks may see it."""
        raise NotImplementedError

    def show(self, request: HttpRequest, row: Any) -> tuple[str, dict[str, Any]]:
        """The template and what it needs beside the site's context."""
        raise NotImplementedError

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        page: Any = super()
        if object_id is None or request.method != "GET":
            response: HttpResponse = page.changeform_view(request, object_id, form_url, extra_context)
            return response
        try:
            row = self.find(request, UUID(object_id))
        except ValueError:
            row = None
        if row is None:
            raise Http404
        template, needed = self.show(request, row)
        context = {
            **self.admin_site.each_context(request),  # type: ignore[attr-defined]  # the base's
            "opts": self.opts,  # type: ignore[attr-defined]  # the base's
            "sees_everybody": sees_everybody(request),
            **needed,
            **(extra_context or {}),
        }
        return TemplateResponse(request, template, context)
