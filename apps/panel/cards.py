"""Lists of rows as cards, and rows as pages to read, in place of the tables and forms of Django's admin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
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
