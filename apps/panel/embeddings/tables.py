"""The lists of what has vectors, and of the models that made them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.panel.cards import ReadingPage
from apps.panel.owned import PartAdmin, StaffAdmin
from apps.panel.templatetags.ages import age

START_CHARACTERS = 120


@admin.register(ConversationEmbedding)
class ConversationEmbeddingAdmin(ReadingPage, PartAdmin):
    """What search in conversations finds: messages, long ones in parts, and summaries. One searches by meaning."""

    list_before_template = "panel/embeddings/before.html"
    change_form_template = "panel/embeddings/embedding.html"
    list_display = ("start", "message_type", "user", "part_number", "model", "said")
    list_select_related = ("user", "model")
    list_filter = ("message_type", "model", "created_at")
    fields = readonly_fields = ("user", "chat", "part", "content", "message_type", "model", "created_at")

    class Media:
        css = {"all": ["panel/remembered.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConversationEmbedding]:
        queryset: QuerySet[ConversationEmbedding] = super().get_queryset(request).defer("embedding", "digest")
        if "object_id" in (request.resolver_match.kwargs if request.resolver_match else {}):
            return queryset
        wide = ("embedding", "digest", "content")
        return queryset.defer(*wide).annotate(content_start=Left("content", START_CHARACTERS))

    @admin.display(description=_("content"))
    def start(self, row: ConversationEmbedding) -> str:
        return str(row.content_start)  # type: ignore[attr-defined]  # annotated

    @admin.display(description=_("part"), ordering="part")
    def part_number(self, row: ConversationEmbedding) -> int:
        return row.part + 1

    @admin.display(description=_("mentioned"), ordering="created_at")
    def said(self, row: ConversationEmbedding) -> SafeString | str:
        return age(row.created_at)

    def describe(self, request: HttpRequest, row: ConversationEmbedding) -> dict[str, Any]:
        parts = ConversationEmbedding.objects.filter(message=row.message_id, model=row.model_id).count()
        return {"embedding": row, "parts": parts, "number": row.part + 1}


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(StaffAdmin):
    """Which model the vectors are of. `manage.py reembed` changes it."""

    list_before_template = "panel/embeddings/models.html"
    list_display = ("name", "state", "begun")
    fields = readonly_fields = ("name", "state", "created_at")

    class Media:
        css = {"all": ["panel/remembered.css"]}

    @admin.display(description=_("created at"), ordering="created_at")
    def begun(self, row: EmbeddingModel) -> SafeString | str:
        return age(row.created_at)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
