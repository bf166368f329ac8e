"""Conversations: the list, one as it was held, and as a file. The services that the API calls rename and delete."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Page, Paginator
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left
from django.forms import ModelForm
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.accounts.selectors import get_settings
from apps.chat.models import Turn
from apps.conversations.export import ExportFormat, answer_export
from apps.conversations.models import Message, MessageStatus, Session
from apps.conversations.sessions import delete_session, delete_sessions, get_shown_status, rename_session
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.working import WorkingMemorySnapshot, find_working_memory
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.pages import PanelPage, ReadingPage
from apps.panel.words import show_value
from apps.summaries.models import SessionSummary

MESSAGES_PER_PAGE = 50
LONG_CHARACTERS = 1_500
_SHOWN_CHARACTERS = 32_000
_MEMORY_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """A memory that came from a message; `kind` "long_term" or "atomic"."""

    id: uuid.UUID
    kind: str
    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Said:
    """One message: `turn` tells whether it can be looked into, `emotion` is that of the message's turn."""

    message: Message
    text: str
    status: str
    has_turn: bool
    emotion: Mapping[str, Any] | None
    learned: Sequence[LearnedMemory]
    covered: int

    @property
    def is_long(self) -> bool:
        """Whether it is too long to be read without scrolling in itself."""
        return len(self.text) > LONG_CHARACTERS

    @property
    def is_failed(self) -> bool:
        return self.status == MessageStatus.FAILED

    @property
    def is_replaced(self) -> bool:
        """Whether it was edited, or answered anew, by a client that manages its own history (T3)."""
        return self.status == MessageStatus.REPLACED

    @property
    def is_pending(self) -> bool:
        return self.status == MessageStatus.PENDING


@dataclass(frozen=True, slots=True)
class InMind:
    """The working memory of a live session."""

    snapshot: WorkingMemorySnapshot
    variables: Sequence[tuple[str, str]]
    forms: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Talk:
    """The page of a conversation."""

    page: Page[Message]
    said: Sequence[Said]
    in_mind: InMind | None
    summary: SessionSummary | None
    memories: int


def read_talk(session: Session, *, page: str | None, at: str | None, now: datetime) -> Talk:
    """Return a portion of a conversation: page number `page`, or the one with the message `at`, else the last."""
    rows = session.messages.order_by("position").annotate(text=Left("content", _SHOWN_CHARACTERS)).defer("content")
    paginator: Paginator[Message] = Paginator(rows, MESSAGES_PER_PAGE)
    number = page or _find_page(session, at) or paginator.num_pages
    shown = paginator.get_page(number)
    messages = list(shown.object_list)
    ids = [message.id for message in messages]
    turns = _find_turns(ids)
    learned = _find_learned(session, ids)
    covered = _count_covered(messages)
    return Talk(
        page=shown,
        said=[
            Said(
                message=message,
                text=getattr(message, "text", ""),
                status=get_shown_status(message, now=now),
                has_turn=message.id in turns,
                emotion=turns.get(message.id) if message.role == "user" else None,
                learned=learned.get(message.id, ()),
                covered=covered.get(message.id, 0),
            )
            for message in messages
        ],
        in_mind=_read_mind(session, now=now),
        summary=SessionSummary.objects.filter(session=session, deleted=False).first(),
        memories=LongTermMemory.objects.filter(session=session).count()
        + AtomicMemory.objects.filter(session=session).count(),
    )


def _find_page(session: Session, at: str | None) -> int | None:
    try:
        message_id = uuid.UUID(at or "")
    except ValueError:
        return None
    position = session.messages.filter(id=message_id).values_list("position", flat=True).first()
    if position is None:
        return None
    return session.messages.filter(position__lt=position).count() // MESSAGES_PER_PAGE + 1


def _find_turns(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Any]:
    """The emotion of each turn, under both of its messages."""
    rows = Turn.objects.filter(assistant_message__in=ids).values_list("assistant_message", "user_message", "emotion")
    return {key: emotion for reply, message, emotion in rows for key in (reply, message) if key}


def _find_learned(session: Session, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[LearnedMemory]]:
    learned: defaultdict[uuid.UUID, list[LearnedMemory]] = defaultdict(list)
    mine: dict[str, Any] = {"user_id": session.user_id, "message__in": ids}
    long_term = LongTermMemory.objects.filter(**mine).order_by("created_at", "id")
    for key, message, text, status in long_term.values_list("id", "message", "key", "status"):
        learned[message].append(LearnedMemory(id=key, kind="long_term", text=text, status=status))
    atomic = AtomicMemory.objects.filter(**mine).annotate(text=Left("content", _MEMORY_CHARACTERS))
    for key, message, text, status in atomic.order_by("create_time", "id").values_list(
        "id", "message", "text", "status"
    ):
        learned[message].append(LearnedMemory(id=key, kind="atomic", text=text, status=status))
    return learned


def _count_covered(messages: Sequence[Message]) -> dict[uuid.UUID, int]:
    """How many messages each of the summaries among these covers."""
    summaries = [message.id for message in messages if message.role == "summary"]
    if not summaries:
        return {}
    covered = Message.objects.filter(summarized_by__in=summaries).order_by().values("summarized_by")
    counts = covered.annotate(count=Count("pk")).values_list("summarized_by", "count")
    return {summary: count for summary, count in counts if summary}


def _read_mind(session: Session, *, now: datetime) -> InMind | None:
    ttl_minutes = get_settings(session.user).working_ttl_minutes
    snapshot = find_working_memory(session.user, session.id, now=now, ttl_minutes=ttl_minutes)
    if snapshot is None:
        return None
    return InMind(
        snapshot=snapshot,
        variables=[(name, show_value(value)) for name, value in snapshot.variables.plain.items()],
        forms=[
            (title, [(name, show_value(field)) for name, field in form["fields"].items()])
            for title, form in snapshot.variables.forms.items()
        ],
        expires_at=snapshot.updated_at + timedelta(minutes=ttl_minutes),
    )


class SessionDownload(PanelPage):
    """GET ``format``: markdown, which is the default, or json."""

    http_method_names = ["get"]

    def get(self, request: HttpRequest, session_id: UUID) -> FileResponse:
        """Answer with the file; 404 for none, and for one that who asks does not see."""
        seen = Session.objects.all() if sees_everybody(request) else Session.objects.filter(user=request.user.pk)
        session = seen.filter(pk=session_id).first()
        asked = request.GET.get("format", ExportFormat.MARKDOWN)
        if session is None or asked not in list(ExportFormat):
            raise Http404
        return answer_export(session, ExportFormat(asked), zone=timezone.get_current_timezone())


@admin.register(Session)
class SessionAdmin(ReadingPage, OwnedAdmin):
    """Sessions can be read, renamed and deleted."""

    list_display = ("shown_title", "user", "message_count", "last_active_at", "created_at", "kind")
    list_select_related = ("user",)
    list_filter = ("temporary", "created_at")
    search_fields = ("title", "id", "user__username")
    search_help_text = _("Search titles")
    list_before_template = "panel/conversations/before.html"
    fields = ("id", "user", "title", "temporary", "created_at", "last_active_at")
    readonly_fields = ("id", "user", "temporary", "created_at", "last_active_at")
    delete_confirmation_template = "panel/conversations/delete.html"
    delete_selected_confirmation_template = "panel/conversations/delete.html"

    class Media:
        css = {"all": ["panel/conversations.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        rows: QuerySet[Session] = super().get_queryset(request)
        counts = Message.objects.filter(session=OuterRef("pk")).order_by().values("session").annotate(n=Count("pk"))
        return rows.annotate(messages_held=Coalesce(Subquery(counts.values("n"), IntegerField()), 0))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def find(self, request: HttpRequest, key: UUID) -> Session | None:
        rows: QuerySet[Session] = super().get_queryset(request)
        return rows.select_related("user").filter(pk=key).first()

    def show(self, request: HttpRequest, row: Session) -> tuple[str, dict[str, Any]]:
        """The conversation, and the form that renames it."""
        needed = {
            "title": row.title or _("Untitled conversation"),
            "session": row,
            "talk": read_talk(row, page=request.GET.get("page"), at=request.GET.get("at"), now=timezone.now()),
        }
        return "panel/conversations/session.html", needed

    def save_model(self, request: HttpRequest, obj: Session, form: ModelForm[Session], change: bool) -> None:
        rename_session(user=obj.user, session_id=obj.id, title=obj.title)

    def response_change(self, request: HttpRequest, obj: Session) -> HttpResponse:
        self.message_user(request, _("The conversation was renamed."))
        return HttpResponseRedirect(reverse("admin:conversations_session_change", args=[obj.pk]))

    def delete_model(self, request: HttpRequest, obj: Session) -> None:
        delete_session(user=obj.user, session_id=obj.id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        delete_sessions(queryset)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Say what goes and what stays by number, without reading it all: a session can have very many messages."""
        ids = [session.pk for session in objs]
        counts = {
            str(_("messages")): Message.objects.filter(session__in=ids).count(),
            str(_("memories to keep")): LongTermMemory.objects.filter(session__in=ids).count()
            + AtomicMemory.objects.filter(session__in=ids).count(),
        }
        return [session.title or str(_("Untitled conversation")) for session in objs], counts, set(), []

    @admin.display(description=_("conversation"), ordering="title")
    def shown_title(self, session: Session) -> SafeString:
        if not session.title:
            return format_html('<span class="muted">{}</span>', _("Untitled conversation"))
        return format_html('<span dir="auto">{}</span>', session.title)

    @admin.display(description=_("messages"))
    def message_count(self, session: Session) -> int:
        return getattr(session, "messages_held", 0)

    @admin.display(description=_("kind"))
    def kind(self, session: Session) -> SafeString | str:
        return format_html('<span class="chip chip--amber">{}</span>', _("temporary")) if session.temporary else ""
