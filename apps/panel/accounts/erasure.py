"""Erasing everything remembered about a person (R3): what is there, the name typed, and a receipt."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from functools import cached_property
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.accounts.services.erasure import Receipt, confirms_erasure, count_rows, erase_user
from apps.accounts.services.export import answer_export
from apps.accounts.services.personal_data import list_tables
from apps.panel.links import link_page
from apps.panel.owned import choose_owner, may_erase
from apps.panel.pages import PanelPage


def show_data_counts(counts: dict[str, int]) -> dict[str, Any]:
    """What the templates need to say how much there is, by table."""
    most = max(counts.values(), default=0) or 1
    tables = [
        {"title": title, "count": counts[name], "share": round(counts[name] / most, 3)}
        for name, title in _title_tables().items()
    ]
    return {
        "tables": sorted((table for table in tables if table["count"]), key=lambda table: -table["count"]),
        "total": sum(counts.values()),
    }


def show_receipt(receipt: Receipt, user_id: int) -> dict[str, Any]:
    """What the template of a receipt needs."""
    tables = [{"title": title, "count": receipt.deleted[name]} for name, title in _title_tables().items()]
    return {
        "receipt": receipt,
        "tables": [table for table in tables if table["count"]],
        "total": sum(receipt.deleted.values()),
        "now": timezone.now(),
        "document": _write_receipt(receipt, user_id),
    }


def _title_tables() -> dict[str, str]:
    return {table.name: str(table.model._meta.verbose_name_plural) for table in list_tables()}


def _write_receipt(receipt: Receipt, user_id: int) -> str:
    """The receipt as a link to a file that holds it: it is kept nowhere else."""
    said = {"user": user_id, "erased_at": timezone.now().isoformat(timespec="seconds"), **asdict(receipt)}
    return "data:application/json;base64," + base64.b64encode(json.dumps(said, indent=2).encode()).decode()


class _OwnOrServed(PanelPage):
    """A page about one's own data, or, with ``?user=``, about somebody's whose data one may erase."""

    @cached_property
    def owner(self) -> User:
        owner = choose_owner(self.request, or_end_user=True)
        if not may_erase(self.request, owner):
            raise PermissionDenied
        return owner


class ErasurePage(_OwnOrServed):
    """Erases all data of a person once their name was typed."""

    title = _("Erase all data")
    template_name = "panel/erasure/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._ask(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Erase, where ``confirm`` is the person's name to the letter; else nothing happens, with status 400."""
        if not confirms_erasure(self.owner, request.POST.get("confirm", "")):
            return self._ask(request, status=400, refused=True)
        shown = show_receipt(erase_user(user=self.owner), self.owner.pk)
        return self.render(request, **shown, **self._links(request))

    def _ask(self, request: HttpRequest, *, status: int = 200, refused: bool = False) -> HttpResponse:
        held = show_data_counts(count_rows(self.owner))
        return self.render(request, status=status, refused=refused, **held, **self._links(request))

    def _links(self, request: HttpRequest) -> dict[str, Any]:
        other = self.owner if self.owner != request.user else None
        return {
            "mine": other is None,
            "name": self.owner.external_id if self.owner.service_id else self.owner.get_username(),
            "address": link_page("erasure", user=other),
            "export_link": link_page("erasure_export", user=other),
        }


class ExportPage(_OwnOrServed):
    """Everything remembered about a person as a file, to keep before it is erased (R2)."""

    title = _("Export all data")

    def get(self, request: HttpRequest) -> FileResponse:
        return answer_export(self.owner)
