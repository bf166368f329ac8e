"""Conversations: the list, one as it was held, as a file; and messages, found by meaning (V5).

The services that the API calls rename and delete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Case, Count, F, FloatField, IntegerField, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Left
from django.forms import ModelForm
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.views import ChangeList

from apps.accounts.selectors import get_settings
from apps.chat.models import Turn
from apps.conversations.export import ExportFormat, answer_export
from apps.conversations.models import Message, Pause, Session
from apps.conversations.pausing import find_pause
from apps.conversations.sessions import (
    delete_session,
    delete_sessions,
    get_shown_status,
    rename_session,
    update_session,
)
from apps.core.errors import JiyiError, ModelUnavailable
from apps.memory.models import AtomicMemory, ConversationEmbedding, LongTermMemory
from apps.memory.spaces import move_session
from apps.memory.vectors.queries import search_conversations
from apps.memory.working import find_working_memory
from apps.panel.owned import OwnedAdmin, PartAdmin, choose_owner, column, sees_everybody
from apps.panel.pages import PanelPage, ReadingPage
from apps.panel.refusals import list_reasons
from apps.panel.spaces import SpaceFilter, list_choices, read_place
from apps.panel.templatetags.panel import chip, emotion_chip, link_conversation, space_chip
from apps.panel.texts import read_id
from apps.panel.words import show_value
from apps.summaries.models import SessionSummary

MESSAGES_PER_PAGE = 50
LONG_CHARACTERS = 1_500
_SHOWN_CHARACTERS = 32_000
_MEMORY_CHARACTERS = 120

# Of the search for messages by meaning.
FOUND_AT_MOST = 50
LEAST_SIMILARITY = 0.3
LIST_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class Said:
    """One message. `emotion`: that of its turn; `learned`: ID, kind, text and status of what came from it."""

    message: Message
    text: str
    status: str
    has_turn: bool
    emotion: Mapping[str, Any] | None
    learned: Sequence[tuple[UUID, str, str, str]]
    covered: int

    @property
    def is_long(self) -> bool:
        return len(self.text) > LONG_CHARACTERS


def read_talk(session: Session, *, page: str | None, at: str | None, now: datetime) -> dict[str, Any]:
    """Return a portion of a conversation: page number `page`, or the one with the message `at`, else the last."""
    rows = session.messages.order_by("position").annotate(text=Left("content", _SHOWN_CHARACTERS)).defer("content")
    paginator: Paginator[Message] = Paginator(rows, MESSAGES_PER_PAGE)
    shown = paginator.get_page(page or _find_page(session, at) or paginator.num_pages)
    messages = list(shown.object_list)
    ids = [message.id for message in messages]
    turns, learned, covered = _find_turns(ids), _find_learned(session, ids), _count_covered(messages)
    ttl = timedelta(minutes=get_settings(session.user).working_ttl_minutes)
    working = find_working_memory(session.user, session.id, now=now, ttl_minutes=ttl // timedelta(minutes=1))
    return {
        "page": shown,
        "said": [
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
        "working": working,
        "variables": _tell_values(working.variables.plain) if working else [],
        "forms": [(title, _tell_values(form["fields"])) for title, form in working.variables.forms.items()]
        if working
        else [],
        "expires_at": working.updated_at + ttl if working else None,
        "summary": SessionSummary.objects.filter(session=session, deleted=False).first(),
        "memories": sum(kind.objects.filter(session=session).count() for kind in (LongTermMemory, AtomicMemory)),
    }


def _tell_values(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, show_value(value)) for name, value in values.items()]


def _find_page(session: Session, at: str | None) -> int | None:
    rows = session.messages.filter(id=message_id) if (message_id := read_id(at)) else session.messages.none()
    position = rows.values_list("position", flat=True).first()
    if position is None:
        return None
    return session.messages.filter(position__lt=position).count() // MESSAGES_PER_PAGE + 1


def _find_turns(ids: Sequence[UUID]) -> dict[UUID, Any]:
    rows = Turn.objects.filter(assistant_message__in=ids).values_list("assistant_message", "user_message", "emotion")
    return {key: emotion for reply, message, emotion in rows for key in (reply, message) if key}


def _find_learned(session: Session, ids: Sequence[UUID]) -> dict[UUID, list[tuple[UUID, str, str, str]]]:
    learned: defaultdict[UUID, list[tuple[UUID, str, str, str]]] = defaultdict(list)
    mine: dict[str, Any] = {"user_id": session.user_id, "message__in": ids}
    long_term = LongTermMemory.objects.filter(**mine).annotate(shown=F("key")).order_by("created_at", "id")
    atomic = AtomicMemory.objects.filter(**mine).annotate(shown=Left("content", _MEMORY_CHARACTERS))
    for kind, memories in (("long_term", long_term), ("atomic", atomic.order_by("create_time", "id"))):
        for key, message, text, status in memories.values_list("id", "message", "shown", "status"):
            learned[message].append((key, kind, text, status))
    return learned


def _count_covered(messages: Sequence[Message]) -> dict[UUID, int]:
    """How many messages each of the summaries among these covers."""
    summaries = [message.id for message in messages if message.role == "summary"]
    if not summaries:
        return {}
    covered = Message.objects.filter(summarized_by__in=summaries).order_by().values("summarized_by")
    counts = covered.annotate(count=Count("pk")).values_list("summarized_by", "count")
    return {summary: count for summary, count in counts if summary}


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
        masked = get_settings(session.user).mask_secrets_in_exports
        return answer_export(session, ExportFormat(asked), zone=timezone.get_current_timezone(), masked=masked)


@admin.register(Session)
class SessionAdmin(ReadingPage, OwnedAdmin):
    """Sessions can be read, renamed and deleted."""

    never = ("add",)
    list_display = ("shown_title", "user", "shown_space", "message_count", "last_active_at", "created_at", "kind")
    list_select_related = ("user", "space")
    list_filter = (SpaceFilter, "temporary", "paused", "created_at")
    search_fields = ("title", "id", "user__username")
    search_help_text = gettext_lazy("Search titles")
    list_before_template = "panel/conversations/before.html"
    fields = ("id", "user", "title", "temporary", "created_at", "last_active_at")
    readonly_fields = ("id", "user", "temporary", "created_at", "last_active_at")
    delete_confirmation_template = "panel/conversations/delete.html"
    delete_selected_confirmation_template = "panel/conversations/delete.html"
    acts = ("move", "pause")

    class Media:
        css = {"all": ["panel/conversations.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        rows: QuerySet[Session] = super().get_queryset(request)
        counts = Message.objects.filter(session=OuterRef("pk")).order_by().values("session").annotate(n=Count("pk"))
        return rows.annotate(messages_held=Coalesce(Subquery(counts.values("n"), IntegerField()), 0))

    def show(self, request: HttpRequest, row: Session) -> tuple[str, dict[str, Any]]:
        needed = {
            "title": row.title or _("Untitled conversation"),
            "session": row,
            "pause": Pause(pause) if (pause := find_pause(row.user, session=row)) else None,
            "spaces": [space for space in list_choices(row.user) if space.pk != row.space_id],
            "talk": read_talk(row, page=request.GET.get("page"), at=request.GET.get("at"), now=timezone.now()),
        }
        return "panel/conversations/session.html", needed

    def move(self, request: HttpRequest, session: Session) -> HttpResponse:
        """POST ``space``: move a conversation with what was learned in it alone (P4)."""
        there = redirect("admin:conversations_session_change", session.pk)
        try:
            moved = move_session(
                user=session.user, session_id=session.pk, space_id=read_place(request.POST), now=timezone.now()
            )
        except JiyiError as error:
            messages.error(request, list_reasons(error))
            return there
        text = ngettext(
            "The conversation was moved, with %(count)s memory.",
            "The conversation was moved, with %(count)s memories.",
            moved.moved,
        )
        messages.success(request, text % {"count": moved.moved})
        return there

    def pause(self, request: HttpRequest, session: Session) -> HttpResponse:
        """POST: pause what is remembered from a conversation, or resume it (D5)."""
        update_session(user=session.user, session_id=session.pk, changes={"paused": not session.paused})
        messages.success(request, _("Remembering was resumed.") if session.paused else _("Remembering was paused."))
        return redirect("admin:conversations_session_change", session.pk)

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

    @admin.display(description=gettext_lazy("conversation"), ordering="title")
    def shown_title(self, session: Session) -> SafeString:
        if not session.title:
            return format_html('<span class="muted">{}</span>', _("Untitled conversation"))
        return format_html('<span dir="auto">{}</span>', session.title)

    shown_space = column(gettext_lazy("space"), lambda session: space_chip(session.space))
    message_count = column(gettext_lazy("messages"), lambda session: getattr(session, "messages_held", 0))

    @admin.display(description=gettext_lazy("kind"))
    def kind(self, session: Session) -> SafeString | str:
        if session.temporary:
            return chip(_("temporary"), "amber")
        is_paused = session.paused or (session.space is not None and session.space.paused)
        return chip(_("remembering paused"), "amber") if is_paused else ""


class NearestFirst(ChangeList):
    """What a search found is listed by how near it is."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        ordering: list[Any] = super().get_ordering(request, queryset)
        return ["-similarity", *ordering] if self.query.strip() else ordering


@admin.register(Message)
class MessageAdmin(PartAdmin):
    """What was said is not edited afterwards; a whole session can be deleted."""

    list_display = (
        "beginning", "similarity_bar", "role", "create_time", "conversation", "user", "shown_emotion", "marks",
    )  # fmt: skip
    list_select_related = ("user", "session")
    list_filter = ("role", "status", "is_collected", "create_time")
    search_fields = ("content",)
    search_help_text = gettext_lazy("Search messages by meaning")
    ordering = ("-create_time",)
    fields = readonly_fields = (
        "conversation", "user", "role", "content", "create_time", "shown_emotion", "status", "is_collected",
    )  # fmt: skip

    class Media:
        css = {"all": ["panel/conversations.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        rows: QuerySet[Message] = super().get_queryset(request)
        if getattr(request.resolver_match, "url_name", "") != "conversations_message_changelist":
            return rows
        return rows.defer("content").annotate(
            start=Left("content", LIST_CHARACTERS), similarity=Value(None, FloatField())
        )

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        shown = super().get_list_display(request)
        return shown if request.GET.get("q", "").strip() else tuple(name for name in shown if name != "similarity_bar")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Message], search_term: str
    ) -> tuple[QuerySet[Message], bool]:
        """The messages of one person nearest in meaning: of whom the list is narrowed to, else of who asks."""
        if not search_term.strip():
            return queryset, False
        try:
            found = search_conversations(
                user=choose_owner(request, name="user__id__exact"),
                query=search_term,
                top_k=FOUND_AT_MOST,
                threshold=LEAST_SIMILARITY,
            )
        except ModelUnavailable:
            self.message_user(request, _("The embedding model cannot be reached. Try again later."), messages.ERROR)
            return queryset.none(), False
        rows = ConversationEmbedding.objects.filter(id__in=[match.id for match in found])
        of = dict(rows.values_list("id", "message"))
        best: dict[Any, float] = {}
        for match in found:  # the most similar part of a long message comes first
            best.setdefault(of.get(match.id), match.similarity)
        best.pop(None, None)
        nearest = [When(pk=key, then=Value(similarity)) for key, similarity in best.items()]
        if not nearest:
            return queryset.none(), False
        ranked = queryset.filter(pk__in=best).annotate(similarity=Case(*nearest, output_field=FloatField()))
        return ranked, False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return NearestFirst

    @admin.display(description=gettext_lazy("content"))
    def beginning(self, message: Message) -> SafeString:
        start = getattr(message, "start", "")
        return format_html(
            '<span class="said-start" dir="auto">{}{}</span>', start, "…" if len(start) == LIST_CHARACTERS else ""
        )

    @admin.display(description=gettext_lazy("similarity"))
    def similarity_bar(self, message: Message) -> SafeString:
        similarity = getattr(message, "similarity", None) or 0.0
        return format_html(
            '<span class="bar" style="--share: {}" aria-hidden="true"></span> {}',
            f"{similarity:.3f}",
            f"{similarity:.2f}",
        )

    conversation = column(gettext_lazy("conversation"), lambda message: link_conversation(message.session, message.pk))

    @admin.display(description=gettext_lazy("emotion"))
    def shown_emotion(self, message: Message) -> SafeString | str:
        if not message.emotion:
            return "–"
        return emotion_chip(message.emotion)

    @admin.display(description=gettext_lazy("labels"))
    def marks(self, message: Message) -> SafeString:
        star = format_html('<span class="star" title="{}">★</span> ', _("favourite")) if message.is_collected else ""
        if message.status == "complete":
            return format_html("{}", star)
        tone = "failed" if message.status == "failed" else "amber"
        return format_html('{}<span class="chip chip--{}">{}</span>', star, tone, message.get_status_display())
