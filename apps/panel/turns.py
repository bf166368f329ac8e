"""Past turns in the panel: the list, and one turn in detail, from the prompt to its results (M6)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.chat.models import Turn
from apps.chat.selectors import list_influential
from apps.conversations.models import Message
from apps.panel.inspector import describe_turn
from apps.panel.owned import PartAdmin
from apps.panel.pages import ReadingPage
from apps.panel.templatetags.panel import emotion_chip

LIST_CHARACTERS = 80


@admin.register(Turn)
class TurnAdmin(ReadingPage, PartAdmin):
    """Every turn, newest first; its page is the context inspector. A turn goes with its session only."""

    list_display = (
        "said",
        "created_at",
        "user",
        "shown_emotion",
        "used_count",
        "update_count",
        "tokens",
        "wait",
        "model",
    )
    list_select_related = ("user",)
    list_filter = ("created_at",)
    list_before_template = "panel/inspector/before.html"
    fields = readonly_fields = ("created_at", "user", "session", "model")

    class Media:
        css = {"all": ["panel/inspector.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Turn]:
        rows: QuerySet[Turn] = super().get_queryset(request)
        message = Message.objects.filter(pk=OuterRef("user_message")).values(start=Left("content", LIST_CHARACTERS))
        return rows.defer("sources").annotate(beginning=Subquery(message))

    def find(self, request: HttpRequest, key: UUID) -> Turn | None:
        """A turn is found by either of its messages; one of somebody else's is none."""
        rows: QuerySet[Turn] = super().get_queryset(request)
        rows = rows.select_related("user_message", "assistant_message", "session", "user")
        return rows.filter(Q(pk=key) | Q(user_message_id=key)).first()

    def show(self, request: HttpRequest, row: Turn) -> tuple[str, dict[str, Any]]:
        """The context inspector."""
        needed = {"title": _("What happened in this turn"), "page": describe_turn(row), "turn": row}
        return "panel/inspector/turn.html", needed

    @admin.display(description=_("message"))
    def said(self, turn: Turn) -> SafeString:
        beginning = getattr(turn, "beginning", None)
        if beginning is None:
            return format_html('<span class="muted">{}</span>', _("a form"))
        return format_html('<span dir="auto">{}{}</span>', beginning, "…" if len(beginning) == LIST_CHARACTERS else "")

    @admin.display(description=_("emotion"))
    def shown_emotion(self, turn: Turn) -> SafeString | str:
        name = (turn.emotion or {}).get("primary", "")
        if not name:
            return "–"
        return emotion_chip(name, (turn.emotion or {}).get("category", ""))

    @admin.display(description=_("recalled"))
    def used_count(self, turn: Turn) -> int:
        """As many as the chat page says: those that carried weight."""
        return len(list_influential(turn.memories_used))

    @admin.display(description=_("memory updates"))
    def update_count(self, turn: Turn) -> int:
        return len(turn.memory_updates)

    @admin.display(description=_("tokens"))
    def tokens(self, turn: Turn) -> int:
        return sum(layer["tokens"] for layer in turn.layers)

    @admin.display(description=_("first token after"))
    def wait(self, turn: Turn) -> str:
        waited = turn.timings.get("opening_ms", 0) + turn.timings.get("first_token_ms", 0)
        return f"{round(waited)} ms" if waited else "–"
