"""What the pages of both kinds of memories have in common. What is written there, the API's services write."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apps.panel.memories.detail.pages import DetailPages
from apps.panel.memories.kinds import CHANGEABLE, MemoryKind


class MemoryAdmin(DetailPages):
    """The pages of one kind. Active and pending memories can be changed; a deletion takes the history along."""

    kind: ClassVar[MemoryKind]
    list_select_related = ("user",)
    autocomplete_fields = ("user",)

    def get_urls(self) -> list[Any]:
        return [*self.list_parts(), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request).defer(*self.kind.derived)
        return queryset

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return super().get_fields(request, obj) if obj else self._for(request, ("user", *self.kind.editable))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        fields = super().get_fields(request, obj)
        return tuple(name for name in fields if name not in self.kind.editable) if obj else ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return (self.kind.search(queryset, search_term) if search_term.strip() else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return (obj is None or obj.status in CHANGEABLE) and super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Any, form: forms.ModelForm[Any], change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in self.kind.editable}
        if change:
            changes = {name: values[name] for name in form.changed_data}
            self.kind.update(user=obj.user, memory_id=obj.id, changes=changes, now=timezone.now())
            return
        memory, _outcome = self.kind.create(user=obj.user, now=timezone.now(), **values)
        obj.id = memory.id
        obj._state.adding = False

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.kind.forget(user=obj.user, ids=[obj.id], copies=False, now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        by_user: dict[Any, list[Any]] = {}
        for memory in queryset.select_related("user"):
            by_user.setdefault(memory.user, []).append(memory.id)
        for user, ids in by_user.items():
            self.kind.forget(user=user, ids=ids, copies=False, now=timezone.now())
