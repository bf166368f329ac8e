"""Atomic memories in the panel."""

from __future__ import annotations

from django.contrib import admin

from apps.memory.models import AtomicMemory
from apps.panel.memories.base import MemoryAdmin
from apps.panel.memories.forms import AtomicEditor
from apps.panel.memories.kinds import ATOMIC


@admin.register(AtomicMemory)
class AtomicMemoryAdmin(MemoryAdmin):
    """What happened, and what was said, sentence by sentence."""

    kind = ATOMIC
    editor = AtomicEditor
