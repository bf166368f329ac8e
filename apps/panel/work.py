from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from apps.conversations.backlog import replay_failed
from apps.conversations.models import Work
from apps.panel.owned import PartAdmin


@admin.register(Work)
class WorkAdmin(PartAdmin):
    """What is still to be done, and what failed for good and can be tried again. It goes with its message only."""

    list_display = ("id", "kind", "state", "error", "attempts", "postponements", "user", "due_at", "created_at")
    list_select_related = ("user",)
    list_filter = ("state", "kind", "error")
    search_fields = ("user__username", "session__id", "message__id", "error")
    ordering = ("-id",)
    fields = readonly_fields = (
        "kind", "state", "error", "attempts", "postponements", "user", "session", "message", "recorded", "due_at",
        "lease_until", "created_at",
    )  # fmt: skip
    actions = ("try_again",)

    @admin.action(description=_("Try again what has failed"), permissions=["replay"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Work]) -> None:
        replayed = replay_failed(ids=list(queryset.values_list("id", flat=True)))
        text = ngettext("%(count)d piece of work is due again.", "%(count)d pieces of work are due again.", replayed)
        self.message_user(request, text % {"count": replayed}, messages.SUCCESS)

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)
