"""Atomic memories in the panel; written by the services that the API calls."""

from __future__ import annotations

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
from apps.memory.atomic.selectors import DERIVED_FIELDS, search_content
from apps.memory.atomic.services import create_atomic_memory, forget_atomic_memories, update_atomic_memory
from apps.memory.atomic.text import normalize_content
from apps.memory.atomic.validation import check_fields
from apps.memory.models import AtomicMemory, Status
from apps.panel.owned import OwnedAdmin

EDITABLE = ("content", "tags", "timestamp", "event_start", "event_end")


class AtomicMemoryForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Checks what the services check, so that the form shows the reasons."""

    class Meta:
        model = AtomicMemory
        fields = ("user", *EDITABLE)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        try:
            check_fields({name: cleaned[name] for name in EDITABLE if name in cleaned})
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
class AtomicMemoryAdmin(OwnedAdmin):
    """Every person's atomic memories. Active and pending ones can be changed; a deletion takes the history along."""

    form = AtomicMemoryForm
    list_display = ("short_content", "tags", "status", "user", "timestamp", "event_start", "create_time")
    list_select_related = ("user",)
    list_filter = ("status", "timestamp", "create_time")
    search_fields = ("content",)
    search_help_text = _("Words of the content, Chinese too.")
    autocomplete_fields = ("user",)
    fields = ("id", "user", *EDITABLE, "status", "superseded_by", "session", "message", "create_time", "updated_at")

    @admin.display(description=_("content"))
    def short_content(self, memory: AtomicMemory) -> str:
        return Truncator(memory.content).chars(80)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AtomicMemory]:
        queryset: QuerySet[AtomicMemory] = super().get_queryset(request).defer(*DERIVED_FIELDS)
        return queryset

    def get_fields(self, request: HttpRequest, obj: AtomicMemory | None = None) -> tuple[str, ...]:
        return self.fields if obj else ("user", *EDITABLE)

    def get_readonly_fields(self, request: HttpRequest, obj: AtomicMemory | None = None) -> tuple[str, ...]:
        return tuple(name for name in self.fields if name not in EDITABLE) if obj else ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AtomicMemory], search_term: str
    ) -> tuple[QuerySet[AtomicMemory], bool]:
        return (search_content(queryset, search_term) if search_term.strip() else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: AtomicMemory | None = None) -> bool:
        changeable = obj is None or obj.status in (Status.ACTIVE, Status.PENDING)
        return changeable and super().has_change_permission(request, obj)

    def save_model(
        self, request: HttpRequest, obj: AtomicMemory, form: forms.ModelForm[AtomicMemory], change: bool
    ) -> None:
        values = {name: form.cleaned_data[name] for name in EDITABLE}
        if change:
            changes = {name: values[name] for name in form.changed_data}
            update_atomic_memory(user=obj.user, memory_id=obj.id, changes=changes, now=timezone.now())
            return
        memory, _created = create_atomic_memory(user=obj.user, now=timezone.now(), **values)
        obj.id = memory.id
        obj._state.adding = False

    def delete_model(self, request: HttpRequest, obj: AtomicMemory) -> None:
        forget_atomic_memories(user=obj.user, ids=[obj.id], now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[AtomicMemory]) -> None:
        by_user: dict[Any, list[AtomicMemory]] = {}
        for memory in queryset.select_related("user"):
            by_user.setdefault(memory.user, []).append(memory)
        for user, memories in by_user.items():
            forget_atomic_memories(user=user, ids=[memory.id for memory in memories], now=timezone.now())
