"""Long-term memories in the panel. What is written here is written by the services that the API calls."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from apps.core.errors import JiyiError
from apps.core.text.fold import normalize_key
from apps.memory.long_term.validation import check_fields
from apps.memory.models import LongTermMemory, Status
from apps.panel.memories.base import MemoryAdmin
from apps.panel.memories.forms import LongTermEditor
from apps.panel.memories.kinds import LONG_TERM


class LongTermMemoryForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Checks what the services check, so that the form shows the reasons."""

    class Meta:
        model = LongTermMemory
        fields = ("user", *LONG_TERM.editable)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        try:
            check_fields({name: cleaned[name] for name in LONG_TERM.editable if name in cleaned})
        except JiyiError as error:
            raise ValidationError(dict(error.fields)) from error
        if self.instance.status == Status.ACTIVE and not self.instance._state.adding and "key" in cleaned:
            self._refuse_taken_key(normalize_key(cleaned["key"]))
        return cleaned

    def _refuse_taken_key(self, normalized_key: str) -> None:
        others = LongTermMemory.objects.filter(user=self.instance.user, status=Status.ACTIVE)
        if others.filter(normalized_key=normalized_key).exclude(id=self.instance.id).exists():
            raise ValidationError({"key": _("Another active memory has this key.")})


@admin.register(LongTermMemory)
class LongTermMemoryAdmin(MemoryAdmin):
    """Every person's long-term memories. Active and pending ones can be changed; a deletion takes the history along."""

    kind = LONG_TERM
    form = LongTermMemoryForm
    editor = LongTermEditor
    list_display = (
        "key", "short_value", "category", "confidence", "source", "status", "user", "access_count", "last_accessed",
        "created_at",
    )  # fmt: skip
    list_filter = ("status", "category", "source", "created_at")
    search_fields = ("key",)
    search_help_text = _("Words of key or value, Chinese too.")
    fields = (
        "id", "user", *LONG_TERM.editable, "status", "mode", "superseded_by", "session", "message", "created_at",
        "updated_at", "last_accessed", "access_count",
    )  # fmt: skip

    @admin.display(description=_("value"))
    def short_value(self, memory: LongTermMemory) -> str:
        return Truncator(json.dumps(memory.value, ensure_ascii=False)).chars(80)
