"""Long-term memories in the panel."""

from __future__ import annotations

from django.contrib import admin

from apps.memory.models import LongTermMemory
from apps.panel.memories.base import MemoryAdmin
from apps.panel.memories.forms import LongTermEditor
from apps.panel.memories.kinds import LONG_TERM


@admin.register(LongTermMemory)
class LongTermMemoryAdmin(MemoryAdmin):
    """What is known of people, by key."""

    kind = LONG_TERM
    editor = LongTermEditor
