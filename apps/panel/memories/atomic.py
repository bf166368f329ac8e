"""Atomic memories in the panel; written by the services that the API calls."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from apps.core.errors import JiyiError
from apps.memory.atomic.text import normalize_content
from apps.memory.atomic.validation import check_fields
from apps.memory.models import AtomicMemory, Status
from apps.panel.memories.base import MemoryAdmin
from apps.panel.memories.forms import AtomicEditor
from apps.panel.memories.kinds import ATOMIC


class AtomicMemoryForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Checks what the services check, so that the form shows the reasons."""

    class Meta:
        model = AtomicMemory
        fields = ("user", *ATOMIC.editable)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        try:
            check_fields({name: cleaned[name] for name in ATOMIC.editable if name in cleaned})
        except JiyiError as error:
            raise ValidationError(dict(error.fields)) from error
        if self.instance.status == Status.ACTIVE and not self.instance._state.adding and "content" in cleaned:
            self._refuse_repetition(normalize_content(cleaned["content"]))
        return cleaned

    def _refuse_repetition(self, normalized_content: str) -> None:
        others = AtomicMemory.objects.filter(user=self.instance.user, status=Status.ACTIVE)
        if others.filter(normalized_content=normalized_content).exclude(id=self.instance.id).exists():
            raise ValidationError({"content": _("Another active memory says this.")})


@admin.register(AtomicMemory)
class AtomicMemoryAdmin(MemoryAdmin):
    """Every person's atomic memories. Active and pending ones can be changed; a deletion takes the history along."""

    kind = ATOMIC
    form = AtomicMemoryForm
    editor = AtomicEditor
    list_display = ("short_content", "tags", "status", "user", "timestamp", "event_start", "create_time")
    list_filter = ("status", "timestamp", "create_time")
    search_fields = ("content",)
    search_help_text = _("Words of the content, Chinese too.")
    fields = (
        "id",
        "user",
        *ATOMIC.editable,
        "status",
        "superseded_by",
        "session",
        "message",
        "create_time",
        "updated_at",
    )

    @admin.display(description=_("content"))
    def short_content(self, memory: AtomicMemory) -> str:
        return Truncator(memory.content).chars(80)
