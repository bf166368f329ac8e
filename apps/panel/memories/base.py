"""What the pages of both kinds of memories have in common. What is written there, the API's services write."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from apps.panel.memories.detail.pages import DetailPages
from apps.panel.memories.kinds import CHANGEABLE


class MemoryAdmin(DetailPages):
    """The pages of one kind. Active and pending memories can be changed; a deletion takes the history along."""

    def get_urls(self) -> list[Any]:
        return [*self.list_parts(), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request).defer(*self.kind.derived)
        return queryset

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return (obj is None or obj.status in CHANGEABLE) and super().has_change_permission(request, obj)
