from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from apps.conversations.models import Message, Session
from apps.conversations.services import delete_session, delete_sessions, rename_session
from apps.panel.owned import OwnedAdmin, PartAdmin


@admin.register(Session)
class SessionAdmin(OwnedAdmin):
    """Sessions can be renamed and deleted, by the services that the API calls."""

    list_display = ("id", "title", "user", "temporary", "created_at", "last_active_at")
    list_select_related = ("user",)
    list_filter = ("temporary", "created_at")
    search_fields = ("title", "id", "user__username")
    fields = ("id", "user", "title", "temporary", "created_at", "last_active_at")
    readonly_fields = ("id", "user", "temporary", "created_at", "last_active_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Session, form: ModelForm[Session], change: bool) -> None:
        rename_session(user=obj.user, session_id=obj.id, title=obj.title)

    def delete_model(self, request: HttpRequest, obj: Session) -> None:
        delete_session(user=obj.user, session_id=obj.id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        delete_sessions(queryset)


@admin.register(Message)
class MessageAdmin(PartAdmin):
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

    @admin.display(description=_("content"))
    def content_start(self, message: Message) -> str:
        return message.content[:80]
