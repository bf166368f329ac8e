"""Everything that came from one source, within the list of changes: undone or sent to review at once, a quarantine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Count, Max, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import ApiToken, User
from apps.conversations.models import Message, Session
from apps.doors.models import ConnectedApp, ImportItem, PastImport
from apps.memory.changes.undo import MOST_TOGETHER, undo_together
from apps.memory.judge.review import send_to_review
from apps.memory.models import AtomicMemory, Change, ContextEntry, LongTermMemory, Status
from apps.panel.links import link_list
from apps.panel.owned import choose_owner
from apps.panel.pages import PanelPage, with_toast
from apps.panel.texts import read_id, read_number

# Additions to shared contexts in the list, the newest first; what is done is done with all.
SHOWN = 200

_MEMORIES: dict[str, Any] = {Change.Kind.LONG_TERM: LongTermMemory, Change.Kind.ATOMIC: AtomicMemory}


def link_sources(
    *,
    time: datetime,
    session: Any = None,
    message: Any = None,
    past_import: Any = None,
    program: str = "",
    owner: User | None = None,
) -> list[tuple[str, str]]:
    """Return words and links to what came from these sources, as far as they are known, and from the hour of `time`.

    ``owner``: for staff, whose it is.
    """
    # In the time zone of who reads the page.
    hour = timezone.localtime(time).strftime("%Y-%m-%dT%H:00")
    known = {
        "message": (message, _("Everything from this message")),
        "session": (session, _("Everything from this conversation")),
        "import": (past_import, _("Everything from this import")),
        "program": (program, _("Everything from this program")),
        "hour": (hour, _("Everything from this hour")),
    }
    return [
        (label, link_list(Change, user=owner, source=f"{name}:{value}"))
        for name, (value, label) in known.items()
        if value
    ]


HOUR = timedelta(hours=1)
_TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Source:
    """Where things came from. ``name``, ``value``: as the address names it; ``kind``, ``title``: in words.

    ``changes``: what of the audit record came from it; ``entries``: which additions to shared contexts; None: none.
    """

    name: str
    value: str
    kind: str
    title: str
    changes: Q | None
    entries: Q

    def list_changes(self, owner: User) -> QuerySet[Change]:
        """The changes that came from it, without what undid some, and without deletions, which left nothing."""
        changes = Change.objects.filter(user=owner)
        if self.changes is None:
            return changes.none()
        return changes.filter(self.changes).exclude(action__in=(Change.Action.UNDO, Change.Action.DELETE))

    def list_undoable(self, owner: User) -> QuerySet[Change]:
        """Those of its changes that can be undone, in no order."""
        changes = self.list_changes(owner).filter(undone_by=None, after__isnull=False)
        return changes.exclude(kind=Change.Kind.CONTEXT).order_by()

    def list_entries(self, owner: User) -> QuerySet[ContextEntry]:
        """The additions to shared contexts that came from it. Their making has no record: they are withdrawn."""
        return ContextEntry.objects.filter(self.entries, user=owner)


def find_source(owner: User, named: str) -> Source | None:
    """Return the source that ``kind:value`` names; None for none, and for another person's. One query."""
    name, _colon, value = named.strip()[:200].partition(":")
    return _FINDERS[name](owner, value) if name in _FINDERS and value else None


def _find_session(owner: User, value: str) -> Source | None:
    session = _find(Session.objects.filter(user=owner), value)
    if session is None:
        return None
    changes = Q(message__session=session.pk) | Q(session=session.pk)
    entries = Q(message__session=session.pk)
    return Source("session", value, _("Conversation"), session.title or _("Untitled conversation"), changes, entries)


def _find_message(owner: User, value: str) -> Source | None:
    message = _find(Message.objects.filter(user=owner), value)
    if message is None:
        return None
    title = Truncator(message.content).chars(_TITLE_CHARACTERS)
    return Source("message", value, _("Message"), title, Q(message=message.pk), Q(message=message.pk))


def _find_import(owner: User, value: str) -> Source | None:
    found = _find(PastImport.objects.filter(user=owner), value)
    if found is None:
        return None
    sessions = ImportItem.objects.filter(past_import=found.pk, session__isnull=False).values("session")
    changes = Q(operation=found.operation) | Q(message__session__in=sessions) | Q(session__in=sessions)
    title = found.file_name or str(found.format)
    return Source("import", value, _("Import"), title, changes, Q(message__session__in=sessions))


def _find_hour(_owner: User, value: str) -> Source | None:
    try:
        time = parse_datetime(value)
        if time is None or time.year < 2000:
            return None
        start = (timezone.make_aware(time) if timezone.is_naive(time) else time).replace(minute=0, second=0)
        end = start + HOUR
    except (ValueError, OverflowError):
        return None
    begins, ends = timezone.localtime(start), timezone.localtime(end)
    title = f"{date_format(begins, 'DATETIME_FORMAT')} – {date_format(ends, 'TIME_FORMAT')}"
    span = Q(created_at__gte=start, created_at__lt=end)
    return Source("hour", value, _("Hour"), title, span, span)


def _find_author(owner: User, value: str) -> Source | None:
    if not ContextEntry.objects.filter(user=owner, author=value).exists():
        return None
    return Source("author", value, _("Author of shared contexts"), value, None, Q(author=value))


def _find(rows: QuerySet[Any], value: str) -> Any:
    return rows.filter(pk=read_id(value)).first()


def _find_program(owner: User, value: str) -> Source | None:
    """What an API token or a connected app stored, and what the conversations that it began taught."""
    kind, _colon, key = value.partition(":")
    names = {
        "token": ApiToken.objects.filter(Q(user=owner) | Q(user=owner.service_id), token_key=key).values_list("name"),
        "app": ConnectedApp.objects.filter(user=owner, application__pk=read_number(key) or 0).values_list(
            "application__name"
        ),
    }
    if kind not in names:
        return None
    changes = Q(via=value) | Q(message__session__via=value) | Q(session__via=value)
    entries = Q(via=value) | Q(message__session__via=value)
    if not (found := names[kind].first()) and not Change.objects.filter(changes, user=owner).exists():
        return None
    kinds = {"token": _("API token"), "app": _("connected app")}
    return Source("program", value, kinds[kind], (found and found[0]) or key, changes, entries)


_FINDERS = {
    "program": _find_program,
    "message": _find_message,
    "session": _find_session,
    "import": _find_import,
    "hour": _find_hour,
    "author": _find_author,
}


class SourceFilter(admin.SimpleListFilter):
    """Narrow the changes to those from one source, which links name: `link_sources`."""

    title = gettext_lazy("source")
    parameter_name = "source"

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self._owner = read_owner(request)
        self._source: Source | None = None
        super().__init__(request, *args, **kwargs)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        if not self.value():
            return []
        self._source = find_source(self._owner, self.value() or "")
        if self._source is None:
            raise Http404(_("There is no such source."))
        return [(self.value() or "", f"{self._source.kind}: {self._source.title}")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self._source is None:
            return queryset
        return queryset.filter(pk__in=self._source.list_changes(self._owner).order_by().values("pk"))


def read_owner(request: HttpRequest) -> User:
    """Return whose source a list of changes is about: for staff the user it is narrowed to, else who asks."""
    return choose_owner(request, name="user__id__exact")


def describe_source(request: HttpRequest) -> dict[str, Any]:
    """Return what stands above the changes from one source: its name, what can be done, additions to contexts."""
    owner = read_owner(request)
    source = find_source(owner, request.GET.get("source", ""))
    if source is None:
        return {}
    undoable = source.list_undoable(owner).aggregate(count=Count("operation", distinct=True))["count"]
    undoable += source.list_entries(owner).filter(withdrawn=False).count()
    changes = source.list_changes(owner).order_by()
    return {
        "source": source,
        "source_owner": owner,
        "source_entries": source.list_entries(owner).select_related("context").order_by("-created_at")[:SHOWN],
        "undoable": undoable,
        "together": min(undoable, MOST_TOGETHER),
        "active": sum(
            model.objects.filter(
                user=owner, status=Status.ACTIVE, id__in=changes.filter(kind=kind).values("object_id")
            ).count()
            for kind, model in _MEMORIES.items()
        ),
        "is_own": owner == request.user,
    }


class SourcePage(PanelPage):
    """POST ``source`` and ``action``: undo all that came from it, or send its memories to review ("aside")."""

    def post(self, request: HttpRequest) -> HttpResponse:
        source, now = find_source(self.owner, request.POST.get("source", "")), timezone.now()
        if source is None:
            raise Http404(_("There is no such source."))
        kept = 0
        if request.POST.get("action") == "aside":
            changes = source.list_changes(self.owner).filter(kind__in=_MEMORIES)
            ids = set(changes.values_list("object_id", flat=True))
            operation, count = send_to_review(user=self.owner, ids=ids, now=now)
            text = ngettext("%(count)s memory waits for review.", "%(count)s memories wait for review.", count)
        elif request.POST.get("action") == "undo":
            undoable = source.list_undoable(self.owner).values("operation")
            newest = undoable.annotate(newest=Max("id")).order_by("-newest")[:MOST_TOGETHER]
            operations = [row["operation"] for row in newest]
            entries = source.list_entries(self.owner).filter(withdrawn=False).order_by("-created_at", "-id")
            made = {
                str(Change.Kind.ENTRY): list(entries.values_list("id", flat=True)[: MOST_TOGETHER - len(operations)])
            }
            undone = undo_together(user=self.owner, operations=operations, made=made, now=now)
            operation, count, kept = undone.operation, undone.undone, undone.kept
            text = ngettext("%(count)s change undone.", "%(count)s changes undone.", count)
        else:
            raise Http404
        said = text % {"count": count}
        if kept:
            said += " " + ngettext(
                "%(count)s item was changed later and was left as is.",
                "%(count)s items were changed later and were left as is.",
                kept,
            ) % {"count": kept}
        response = HttpResponse(status=204)
        return with_toast(response, said, operations=[operation] if operation else [], is_error=not count, reload=True)
