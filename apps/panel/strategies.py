"""The strategy table in the panel (E2)."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from apps.chat.emotions import NEUTRAL
from apps.chat.models import Strategy
from apps.panel.owned import StaffAdmin


@admin.register(Strategy)
class StrategyAdmin(StaffAdmin):
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
