from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from apps.chat.emotions import NEUTRAL
from apps.chat.models import Strategy, Turn
from apps.core.admin import PartAdmin


@admin.register(Strategy)
class StrategyAdmin(ModelAdmin):
    """How to reply after which emotion (E2). The neutral row is what a first turn uses, so it stays."""

    list_display = (
        "emotion", "category", "tone", "max_length", "use_memory", "proactive_question", "formality", "emoji_allowed",
    )  # fmt: skip
    list_filter = ("category", "formality")
    search_fields = ("emotion", "tone")

    def get_readonly_fields(self, request: HttpRequest, obj: Strategy | None = None) -> tuple[str, ...]:
        return ("emotion",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Strategy | None = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or obj.emotion != NEUTRAL)


@admin.register(Turn)
class TurnAdmin(PartAdmin):
    """The record of what happened."""

    list_display = ("created_at", "user", "session", "model", "primary_emotion", "used_count", "update_count")
    list_select_related = ("user", "session")
    list_filter = ("model", "created_at")
    fields = readonly_fields = (
        "created_at", "user", "session", "user_message", "assistant_message", "model", "emotion", "strategy",
        "memories_used", "memory_updates", "layers", "timings",
    )  # fmt: skip

    @admin.display(description=_("emotion"))
    def primary_emotion(self, turn: Turn) -> str:
        return str((turn.emotion or {}).get("primary", ""))

    @admin.display(description=_("memories used"))
    def used_count(self, turn: Turn) -> int:
        return len(turn.memories_used)

    @admin.display(description=_("memory updates"))
    def update_count(self, turn: Turn) -> int:
        return len(turn.memory_updates)
