"""Past turns in the panel."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from apps.chat.models import Turn
from apps.panel.owned import PartAdmin


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
