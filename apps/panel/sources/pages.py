"""Everything that came from one source in one list, to be undone or set aside at once: a quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count, Max
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.memory.models import AtomicMemory, Change, ContextEntry, LongTermMemory, Status
from apps.memory.services import MOST_TOGETHER, set_aside, undo_together
from apps.panel.answers import tell
from apps.panel.changes.entries import MODELS, read_entry
from apps.panel.labels import label_action, label_status
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.sources.source import Source, find_source
from apps.panel.values import show_value
from apps.profile.document import TEXT_SECTIONS

SHOWN = 200
"""Things in the list, the newest first; the counts and what is done are about all."""

_TEXT = 240
_MEMORIES: dict[str, Any] = {Change.Kind.LONG_TERM: LongTermMemory, Change.Kind.ATOMIC: AtomicMemory}


@dataclass(frozen=True, slots=True)
class Item:
    """Something that came from the source. ``status``: what it is now; ``text``: its value, where a name is not all."""

    kind: Any
    name: str
    text: str
    link: str
    status: Any
    tone: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Figure:
    """How many things of a kind came from the source."""

    kind: Any
    count: int


class SourcePage(PanelPage):
    """GET ``session``, ``message``, ``import``, ``program``, ``hour`` or ``author``, ``user`` for staff; else 404.

    POST with the same: ``action``, undo or aside.
    """

    title = gettext_lazy("Everything from one source")
    template_name = "panel/sources/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        source = self._find(request.GET)
        changes, entries = source.list_changes(self.owner), source.list_entries(self.owner)
        found = changes.order_by().values("kind", "object_id").annotate(newest=Max("id")).order_by("-newest")
        newest = Change.objects.in_bulk([row["newest"] for row in found[:SHOWN]])
        added = list(entries.select_related("context").order_by("-created_at")[:SHOWN])
        items = [
            *_show_changes(newest.values(), statuses=self._read_statuses(newest.values())),
            *map(_show_entry, added),
        ]
        counts = changes.order_by().values("kind").annotate(count=Count("object_id", distinct=True))
        figures = [Figure(_name_kind(row["kind"], count=row["count"]), row["count"]) for row in counts.order_by("kind")]
        if number := len(added) if len(added) < SHOWN else entries.count():
            figures.append(Figure(_("additions to shared contexts"), number))
        undoable = self._list_undoable(source).aggregate(count=Count("operation", distinct=True))["count"]
        undoable += self._list_standing(source).count()
        return self.render(
            request,
            source=source,
            address=self._link(source),
            items=sorted(items, key=lambda item: item.time, reverse=True)[:SHOWN],
            figures=figures,
            total=sum(figure.count for figure in figures),
            undoable=undoable,
            together=min(undoable, MOST_TOGETHER),
            active=sum(
                model.objects.filter(user=self.owner, status=Status.ACTIVE, id__in=self._name(changes, kind)).count()
                for kind, model in _MEMORIES.items()
            ),
            is_own=self.owner == request.user,
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        source, now = self._find(request.POST), timezone.now()
        response = HttpResponse(status=204)
        if request.POST.get("action") == "aside":
            changes = source.list_changes(self.owner).filter(kind__in=_MEMORIES)
            ids = set(changes.values_list("object_id", flat=True))
            operation, count = set_aside(user=self.owner, ids=ids, now=now)
            text = ngettext("%(count)s memory waits for review.", "%(count)s memories wait for review.", count)
            kept = 0
        elif request.POST.get("action") == "undo":
            newest = self._list_undoable(source).values("operation").annotate(newest=Max("id")).order_by("-newest")
            operations = [row["operation"] for row in newest[:MOST_TOGETHER]]
            entries = self._list_standing(source).order_by("-created_at", "-id")[: MOST_TOGETHER - len(operations)]
            made = {str(Change.Kind.ENTRY): list(entries.values_list("id", flat=True))}
            undone = undo_together(user=self.owner, operations=operations, made=made, now=now)
            operation, count, kept = undone.operation, undone.undone, undone.kept
            text = ngettext("%(count)s change undone.", "%(count)s changes undone.", count)
        else:
            raise Http404
        said = text % {"count": count}
        if kept:
            said += " " + ngettext(
                "%(count)s was changed again later and stays.", "%(count)s were changed again later and stay.", kept
            ) % {"count": kept}
        return tell(response, said, operations=[operation] if operation else [], is_error=not count, reload=True)

    def _find(self, asked: Any) -> Source:
        source = find_source(self.owner, asked)
        if source is None:
            raise Http404(_("There is no such source."))
        return source

    def _list_undoable(self, source: Source) -> Any:
        changes = source.list_changes(self.owner).filter(undone_by=None, after__isnull=False)
        return changes.exclude(kind=Change.Kind.CONTEXT).order_by()

    def _list_standing(self, source: Source) -> Any:
        """The additions to shared contexts that can be withdrawn: their making has no record."""
        return source.list_entries(self.owner).filter(withdrawn=False)

    def _name(self, changes: Any, kind: str) -> Any:
        return changes.filter(kind=kind).order_by().values("object_id")

    def _read_statuses(self, changes: Any) -> dict[UUID, str]:
        ids = [change.object_id for change in changes]
        return {
            row_id: status
            for model in _MEMORIES.values()
            for row_id, status in model.objects.filter(user=self.owner, id__in=ids).values_list("id", "status")
        }

    def _link(self, source: Source) -> str:
        asked = {source.name: source.value}
        if sees_everybody(self.request) and self.owner != self.request.user:
            asked["user"] = str(self.owner.pk)
        return f"{reverse('admin:sources')}?{urlencode(asked)}"


def _show_changes(changes: Any, *, statuses: dict[UUID, str]) -> list[Item]:
    return [_show_change(change, statuses.get(change.object_id, "")) for change in changes]


def _show_change(change: Change, status: str) -> Item:
    entry = read_entry(change)
    return Item(
        kind=change.get_kind_display(),
        name=entry.name or str(change.get_kind_display()),
        text=Truncator(_show_text(change.after or {})).chars(_TEXT),
        link=entry.link,
        status=label_status(status) if status else _("undone") if change.undone_by else label_action(change.action),
        tone=status or ("violet" if change.undone_by else entry.tone),
        time=change.created_at,
    )


def _name_kind(kind: str, *, count: int) -> Any:
    options = MODELS[kind]._meta
    return options.verbose_name if count == 1 else options.verbose_name_plural


def _show_text(after: Mapping[str, Any]) -> str:
    """What a name does not say: the value of a key, the snippet of a title, the sections of the profile."""
    if "value" in after:
        return show_value(after["value"])
    texts = [after.get(name) for name in ("snippet", *TEXT_SECTIONS)]
    return "\n".join(text for text in (*texts, *after.get("sections", {}).values()) if text)


def _show_entry(entry: ContextEntry) -> Item:
    return Item(
        kind=_("addition to a shared context"),
        name=entry.context.title,
        text=Truncator(f"{entry.author}: {entry.text}" if entry.author else entry.text).chars(_TEXT),
        link=reverse("admin:memory_sharedcontext_change", args=[entry.context_id]),
        status=_("undone") if entry.withdrawn else "",
        tone="violet" if entry.withdrawn else "grey",
        time=entry.created_at,
    )
