"""Embeddings in the admin site: to be looked at. They are made by workers and go with their messages."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.panel.owned import PartAdmin, StaffAdmin


@admin.register(ConversationEmbedding)
class ConversationEmbeddingAdmin(PartAdmin):
    """What search in conversations finds: messages, long ones in parts, and summaries."""

    list_display = ("content", "message_type", "user", "chat", "part", "model", "created_at")
    list_select_related = ("user", "chat", "model")
    list_filter = ("message_type", "model", "created_at")
    search_fields = ("user__username", "content")
    fields = ("id", "user", "chat", "message", "part", "content", "message_type", "model", "created_at")
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConversationEmbedding]:
        queryset: QuerySet[ConversationEmbedding] = super().get_queryset(request).defer("embedding", "digest")
        return queryset


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(StaffAdmin):
    """Which model the vectors are of. `manage.py reembed` changes it."""

    list_display = ("name", "state", "created_at")
    fields = ("name", "state", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
