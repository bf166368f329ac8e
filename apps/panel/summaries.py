from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from apps.panel.owned import OwnedAdmin
from apps.summaries.models import SessionSummary
from apps.summaries.services import delete_session_summary, update_session_summary


@admin.register(SessionSummary)
class SessionSummaryAdmin(OwnedAdmin):
    """What sessions were about. They can be edited and deleted, by the services that the API calls."""

    list_display = ("title", "short_snippet", "user", "edited", "created_at", "updated_at")
    list_select_related = ("user",)
    list_filter = ("edited", "created_at")
    search_fields = ("title", "snippet", "session__id", "user__username")
    fields = ("id", "user", "session", "title", "snippet", "edited", "created_at", "updated_at")
    readonly_fields = ("id", "user", "session", "edited", "created_at", "updated_at")

    @admin.display(description=_("snippet"))
    def short_snippet(self, summary: SessionSummary) -> str:
        return Truncator(summary.snippet).chars(80)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SessionSummary]:
        queryset: QuerySet[SessionSummary] = super().get_queryset(request)
        return queryset.filter(deleted=False)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: SessionSummary, form: ModelForm[Any], change: bool) -> None:
        changes = {name: form.cleaned_data[name] for name in form.changed_data}
        if changes:
            update_session_summary(user=obj.user, summary_id=obj.id, changes=changes, now=timezone.now())

    def delete_model(self, request: HttpRequest, obj: SessionSummary) -> None:
        delete_session_summary(user=obj.user, summary_id=obj.id, now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SessionSummary]) -> None:
        for summary in queryset.select_related("user"):
            self.delete_model(request, summary)
