"""Shared contexts in the admin site: to be looked at, and deleted with all their entries."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.admin import TabularInline

from apps.memory.models import ContextEntry, SharedContext
from apps.memory.shared_context.services import forget_context
from apps.panel.owned import PartInline, ReadOnlyAdmin


class ContextEntryInline(PartInline, TabularInline):
    """What was added, in order."""

    model = ContextEntry
    fields = readonly_fields = ("position", "author", "text", "created_at")
    ordering = ("position",)


@admin.register(SharedContext)
class SharedContextAdmin(ReadOnlyAdmin):
    """The background of cases, with what agents added."""

    inlines = (ContextEntryInline,)
    list_display = ("title", "user", "session", "created_at", "updated_at")
    list_select_related = ("user", "session")
    list_filter = ("created_at",)
    search_fields = ("title", "content", "user__username")
    fields = ("id", "user", "session", "message", "title", "content", "created_at", "updated_at")

    def delete_model(self, request: HttpRequest, obj: SharedContext) -> None:
        forget_context(user=obj.user, context_id=obj.id, now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SharedContext]) -> None:
        for context in queryset.select_related("user"):
            forget_context(user=context.user, context_id=context.id, now=timezone.now())
