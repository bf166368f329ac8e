"""What counts as one source: a conversation, a message, an import, a program, an hour, an author of contexts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from apps.accounts.models import ApiToken, User
from apps.conversations.models import Message, Session
from apps.doors.models import ConnectedApp, ImportItem, PastImport
from apps.memory.models import Change, ContextEntry

HOUR = timedelta(hours=1)
_TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Source:
    """Where things came from. ``name``, ``value``: as the address names it; ``kind``, ``title``: in words.

    ``changes``: what of the audit record came from it; ``entries``: which additions to shared contexts. None: none.
    """

    name: str
    value: str
    kind: str
    title: str
    changes: Q | None
    entries: Q | None

    def list_changes(self, owner: User) -> QuerySet[Change]:
        """The changes that came from it, without what undid some, and without deletions, which left nothing."""
        changes = Change.objects.filter(user=owner)
        if self.changes is None:
            return changes.none()
        return changes.filter(self.changes).exclude(action__in=(Change.Action.UNDO, Change.Action.DELETE))

    def list_entries(self, owner: User) -> QuerySet[ContextEntry]:
        """The additions to shared contexts that came from it."""
        entries = ContextEntry.objects.filter(user=owner)
        return entries.none() if self.entries is None else entries.filter(self.entries)


def find_source(owner: User, asked: Mapping[str, str]) -> Source | None:
    """Return the source that the parameters of an address name; None for none, and for another person's. One query."""
    for name, find in _FINDERS.items():
        if value := asked.get(name, "").strip()[:200]:
            return find(owner, value)
    return None


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
    try:
        return rows.filter(pk=UUID(value)).first()
    except ValueError:
        return None


def _find_program(owner: User, value: str) -> Source | None:
    """What an API token or a connected app stored, and what the conversations that it began taught."""
    kind, _colon, key = value.partition(":")
    names = {
        "token": ApiToken.objects.filter(Q(user=owner) | Q(user=owner.service_id), token_key=key).values_list("name"),
        "app": ConnectedApp.objects.filter(user=owner, application__pk=int(key) if _is_number(key) else 0).values_list(
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


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


_FINDERS = {
    "program": _find_program,
    "message": _find_message,
    "session": _find_session,
    "import": _find_import,
    "hour": _find_hour,
    "author": _find_author,
}
