from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from apps.conversations.models import Message, Session


@admin.register(Session)
class SessionAdmin(ModelAdmin):
    list_display = ("id", "title", "user", "temporary", "created_at", "last_active_at")
    list_select_related = ("user",)
    list_filter = ("temporary", "created_at")
    search_fields = ("title", "id", "user__username")
    fields = ("id", "user", "title", "temporary", "created_at", "last_active_at")
    readonly_fields = ("id", "user", "temporary", "created_at", "last_active_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Message)
class MessageAdmin(ModelAdmin):
    """What was said is not edited afterwards; a whole session can be deleted."""

    list_display = ("create_time", "role", "content_start", "session", "user", "emotion", "status", "is_collected")
    list_select_related = ("session", "user")
    list_filter = ("role", "status", "is_collected", "create_time")
    search_fields = ("content", "session__id")
    ordering = ("-create_time",)
    fields = readonly_fields = (
        "id", "session", "user", "role", "content", "create_time", "emotion", "status", "is_collected", "reply_to",
        "summarized_by",
    )  # fmt: skip

    @admin.display(description="content")
    def content_start(self, message: Message) -> str:
        return message.content[:80]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
