"""Long-term memories in the panel. What is written here is written by the services that the API calls."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from apps.core.errors import JiyiError
from apps.core.text.fold import normalize_key
from apps.memory.long_term.selectors import search_text
from apps.memory.long_term.validation import check_fields
from apps.memory.models import SEARCH_FIELDS, LongTermMemory, Status
from apps.memory.services import create_memory, forget_memories, update_memory
from apps.panel.owned import OwnedAdmin

EDITABLE = ("category", "key", "value", "confidence", "source")


class LongTermMemoryForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Checks what the services check, so that the form shows the reasons."""

    class Meta:
        model = LongTermMemory
        fields = ("user", *EDITABLE)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        try:
            check_fields({name: cleaned[name] for name in EDITABLE if name in cleaned})
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
class LongTermMemoryAdmin(OwnedAdmin):
    """Every person's long-term memories. Active and pending ones can be changed; a deletion takes the history along."""

    form = LongTermMemoryForm
    list_display = (
        "key", "short_value", "category", "confidence", "source", "status", "user", "access_count", "last_accessed",
        "created_at",
    )  # fmt: skip
    list_select_related = ("user",)
    list_filter = ("status", "category", "source", "created_at")
    search_fields = ("key",)
    search_help_text = _("Words of key or value, Chinese too.")
    autocomplete_fields = ("user",)
    fields = (
        "id", "user", *EDITABLE, "status", "mode", "superseded_by", "session", "message", "created_at", "updated_at",
        "last_accessed", "access_count",
    )  # fmt: skip

    @admin.display(description=_("value"))
    def short_value(self, memory: LongTermMemory) -> str:
        return Truncator(json.dumps(memory.value, ensure_ascii=False)).chars(80)

    def get_queryset(self, request: HttpRequest) -> QuerySet[LongTermMemory]:
        queryset: QuerySet[LongTermMemory] = super().get_queryset(request).defer(*SEARCH_FIELDS)
        return queryset

    def get_fields(self, request: HttpRequest, obj: LongTermMemory | None = None) -> tuple[str, ...]:
        return self.fields if obj else ("user", *EDITABLE)

    def get_readonly_fields(self, request: HttpRequest, obj: LongTermMemory | None = None) -> tuple[str, ...]:
        return tuple(name for name in self.fields if name not in EDITABLE) if obj else ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[LongTermMemory], search_term: str
    ) -> tuple[QuerySet[LongTermMemory], bool]:
        return (search_text(queryset, search_term) if search_term.strip() else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: LongTermMemory | None = None) -> bool:
        changeable = obj is None or obj.status in (Status.ACTIVE, Status.PENDING)
        return changeable and super().has_change_permission(request, obj)

    def save_model(
        self, request: HttpRequest, obj: LongTermMemory, form: forms.ModelForm[LongTermMemory], change: bool
    ) -> None:
        values = {name: form.cleaned_data[name] for name in EDITABLE}
        if change:
            changes = {name: values[name] for name in form.changed_data}
            update_memory(user=obj.user, memory_id=obj.id, changes=changes, now=timezone.now())
            return
        memory, _action = create_memory(user=obj.user, now=timezone.now(), **values)
        obj.id = memory.id
        obj._state.adding = False

    def delete_model(self, request: HttpRequest, obj: LongTermMemory) -> None:
        forget_memories(user=obj.user, ids=[obj.id], now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[LongTermMemory]) -> None:
        by_user: dict[Any, list[LongTermMemory]] = {}
        for memory in queryset.select_related("user"):
            by_user.setdefault(memory.user, []).append(memory)
        for user, memories in by_user.items():
            forget_memories(user=user, ids=[memory.id for memory in memories], now=timezone.now())
