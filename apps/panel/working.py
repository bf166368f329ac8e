"""What live sessions keep in mind, and the digests of what was deleted, in the panel."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.memory.models import ForgottenKey, WorkingMemory
from apps.memory.services import forget_working_memory
from apps.panel.owned import ReadOnlyAdmin


@admin.register(WorkingMemory)
class WorkingMemoryAdmin(ReadOnlyAdmin):
    """What live sessions keep in mind."""

    list_display = ("session", "user", "current_topic", "turn_count", "last_emotion", "updated_at")
    list_select_related = ("session", "user")
    list_filter = ("last_emotion", "updated_at")
    search_fields = ("user__username", "current_topic")
    fields = (
        "session", "user", "current_topic", "context_variables", "turn_count", "last_emotion", "created_at",
        "updated_at",
    )  # fmt: skip

    def delete_model(self, request: HttpRequest, obj: WorkingMemory) -> None:
        forget_working_memory(user=obj.user, session_id=obj.session_id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[WorkingMemory]) -> None:
        for memory in queryset.select_related("user"):
            forget_working_memory(user=memory.user, session_id=memory.session_id)


@admin.register(ForgottenKey)
class ForgottenKeyAdmin(ReadOnlyAdmin):
    """Digests of what was deleted. Deleting one lets the machine learn it again."""

    list_display = ("digest", "user", "forgotten_at")
    list_select_related = ("user",)
    list_filter = ("forgotten_at",)
    search_fields = ("user__username",)
    fields = ("user", "digest", "forgotten_at")
