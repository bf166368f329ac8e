"""What the panel's pages have in common: frame, links, toasts, lists of cards and rows to read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.generic import View

from apps.accounts.models import User
from apps.panel.links import link_page
from apps.panel.owned import choose_owner, sees_everybody

# The status of a form that is shown again with what is wrong.
UNPROCESSABLE = 422


def with_toast(
    response: HttpResponse,
    text: Any,
    *,
    operations: Iterable[UUID] = (),
    together: bool = False,
    is_error: bool = False,
    reload: bool = False,
    close: bool = False,
) -> HttpResponse:
    """Let the page show a toast; with ``operations`` it offers to undo them. ``reload``: the list is to be read again.

    ``together``: each covers all that was done in its request. This is sent in a header, and proxies refuse long
    ones: thousands of IDs do not belong there. ``close``: the dialog is done with.
    """
    events: dict[str, Any] = {
        "panel:toast": {
            "text": str(text),
            "operations": ",".join(map(str, operations)),
            **({"together": True} if together else {}),
            "error": is_error,
        }
    }
    if reload:
        events["panel:reload"] = True
    if close:
        events["panel:close"] = True
    response.headers["HX-Trigger"] = json.dumps(events)
    return response


def is_partial(request: Any) -> bool:
    """Whether htmx asks, for a part of a page."""
    return bool(request.headers.get("HX-Request") == "true")


def show_page(request: HttpRequest, template: str, *, status: int = 200, **context: Any) -> TemplateResponse:
    """Answer with a template in the frame of the site, which has the site's context and ``sees_everybody``, too."""
    request.current_app = admin.site.name  # Django's templates ask for it
    frame = {**admin.site.each_context(request), "sees_everybody": sees_everybody(request)}
    return TemplateResponse(request, template, {**frame, **context}, status=status)


class PanelPage(View):
    """A page in the frame of the site: ``title``, ``template_name``, and `render` with what the template needs.

    Only for who is logged in: `apps.panel.urls.list_pages` sees to that.
    """

    title: ClassVar[Any]
    template_name: ClassVar[str]

    @cached_property
    def owner(self) -> User:
        """The person whose data the page shows (`choose_owner`)."""
        return choose_owner(self.request)

    def find_named(self, page: str) -> tuple[HttpResponse | None, str]:
        """Lead staff to this page about whom they named in ``name``, or return why not: nobody has that name."""
        name = self.request.GET.get("name", "").strip()
        if not name or not sees_everybody(self.request):
            return None, ""
        found = User.objects.filter(username=name).first()
        if found is None:
            return None, _("No user has this username.")
        return HttpResponseRedirect(link_page(page, user=found)), ""

    def render(self, request: HttpRequest, *, status: int = 200, template: str = "", **context: Any) -> HttpResponse:
        """Answer with the page's template, or another `template`, such as of a part of the page.

        It gets the site's context, ``title``, ``owner`` and ``sees_everybody``.
        """
        context = {"title": self.title, "owner": self.owner, **context}
        return show_page(request, template or self.template_name, status=status, **context)


class CardList:
    """Mixed into a page before its base: the list shows cards.

    ``card_template`` gets each of what `describe_cards` returns as ``card``; ``empty`` is said while there is nothing:
    symbol, title, text, and the name of a page and words that lead there, which may be empty.
    """

    class Media:
        css = {"all": ["panel/remembered.css"]}

    change_list_template = "panel/cards/list.html"
    card_template: ClassVar[str]
    empty: ClassVar[tuple[Any, ...]]

    def describe_cards(self, request: HttpRequest, rows: Sequence[Any]) -> Sequence[Any]:
        raise NotImplementedError

    def describe_list(self, request: HttpRequest, rows: Sequence[Any]) -> dict[str, Any]:
        return {
            "cards": self.describe_cards(request, rows),
            "card_template": self.card_template,
            "empty": self.empty,
            "sees_everybody": sees_everybody(request),
        }


class ReadingPage:
    """Mixed into a page before its base: a row is read on a page of its own, which is no form (`show`).

    What is sent to it, and adding, stay Django's.
    """

    def show(self, request: HttpRequest, row: Any) -> tuple[str, dict[str, Any]]:
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
            row = self.find(request, UUID(object_id))  # type: ignore[attr-defined]  # the base's
        except ValueError:
            raise Http404 from None
        template, needed = self.show(request, row)
        opts = self.opts  # type: ignore[attr-defined]  # the base's
        return show_page(request, template, **{"opts": opts, **needed, **(extra_context or {})})
