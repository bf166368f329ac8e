"""What the panel's pages that are not about one table have in common."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.generic import View

from apps.accounts.models import User
from apps.panel.owned import choose_owner, sees_everybody


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

    def render(self, request: HttpRequest, *, status: int = 200, template: str = "", **context: Any) -> HttpResponse:
        """Answer with the page's template, or another `template`, such as of a part of the page.

        It gets the site's context, ``title``, ``owner`` and ``sees_everybody``.
        """
        request.current_app = admin.site.name
        everything = {
            **admin.site.each_context(request),
            "title": self.title,
            "owner": self.owner,
            "sees_everybody": sees_everybody(request),
            **context,
        }
        return TemplateResponse(request, template or self.template_name, everything, status=status)
