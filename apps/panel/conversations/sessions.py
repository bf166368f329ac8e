"""Conversations in the panel: the list, and one as it was held. Renamed and deleted by the services the API calls."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.conversations.models import Message, Session
from apps.conversations.sessions import delete_session, delete_sessions, rename_session
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.panel.cards import ShownPage
from apps.panel.conversations.talk import read_talk
from apps.panel.owned import OwnedAdmin


@admin.register(Session)
class SessionAdmin(ShownPage, OwnedAdmin):
    """Sessions can be read, renamed and deleted."""

    list_display = ("shown_title", "user", "message_count", "last_active_at", "created_at", "kind")
    list_select_related = ("user",)
    list_filter = ("temporary", "created_at")
    search_fields = ("title", "id", "user__username")
    search_help_text = _("Search titles")
    list_before_template = "panel/conversations/before.html"
    fields = ("id", "user", "title", "temporary", "created_at", "last_active_at")
    readonly_fields = ("id", "user", "temporary", "created_at", "last_active_at")
    delete_confirmation_template = "panel/conversations/delete.html"
    delete_selected_confirmation_template = "panel/conversations/delete.html"

    class Media:
        css = {"all": ["panel/conversations.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        rows: QuerySet[Session] = super().get_queryset(request)
        counts = Message.objects.filter(session=OuterRef("pk")).order_by().values("session").annotate(n=Count("pk"))
        return rows.annotate(messages_held=Coalesce(Subquery(counts.values("n"), IntegerField()), 0))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def find(self, request: HttpRequest, key: UUID) -> Session | None:
        rows: QuerySet[Session] = super().get_queryset(request)
        return rows.select_related("user").filter(pk=key).first()

    def show(self, request: HttpRequest, row: Session) -> tuple[str, dict[str, Any]]:
        """The conversation, and the form that renames it."""
        needed = {
            "title": row.title or _("Untitled conversation"),
            "session": row,
            "talk": read_talk(row, page=request.GET.get("page"), at=request.GET.get("at"), now=timezone.now()),
        }
        return "panel/conversations/session.html", needed

    def save_model(self, request: HttpRequest, obj: Session, form: ModelForm[Session], change: bool) -> None:
        rename_session(user=obj.user, session_id=obj.id, title=obj.title)

    def response_change(self, request: HttpRequest, obj: Session) -> HttpResponse:
        self.message_user(request, _("The conversation was renamed."))
        return HttpResponseRedirect(reverse("admin:conversations_session_change", args=[obj.pk]))

    def delete_model(self, request: HttpRequest, obj: Session) -> None:
        delete_session(user=obj.user, session_id=obj.id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        delete_sessions(queryset)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Say what goes and what stays by number, without reading it all: a session can have very many messages."""
        ids = [session.pk for session in objs]
        counts = {
            str(_("messages")): Message.objects.filter(session__in=ids).count(),
            str(_("memories to keep")): LongTermMemory.objects.filter(session__in=ids).count()
            + AtomicMemory.objects.filter(session__in=ids).count(),
        }
        return [session.title or str(_("Untitled conversation")) for session in objs], counts, set(), []

    @admin.display(description=_("conversation"), ordering="title")
    def shown_title(self, session: Session) -> SafeString:
        if not session.title:
            return format_html('<span class="muted">{}</span>', _("Untitled conversation"))
        return format_html('<span dir="auto">{}</span>', session.title)

    @admin.display(description=_("messages"))
    def message_count(self, session: Session) -> int:
        return getattr(session, "messages_held", 0)

    @admin.display(description=_("kind"))
    def kind(self, session: Session) -> SafeString | str:
        return format_html('<span class="chip chip--amber">{}</span>', _("temporary")) if session.temporary else ""
