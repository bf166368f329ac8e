"""The audit record in the panel (L7): who changed what, as differences, and undoing."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from apps.core.errors import JiyiError
from apps.memory.models import Change
from apps.memory.services import undo_operation
from apps.panel.changes.entries import group_operations, list_lines, name_author, read_entry
from apps.panel.changes.searching import search_changes
from apps.panel.owned import ReadOnlyAdmin, sees_everybody
from apps.panel.reasons import translate_reason

CAUSE_CHARACTERS = 200


@admin.register(Change)
class ChangeAdmin(ReadOnlyAdmin):
    """Every change of what is remembered, newest first. Records are neither edited nor deleted; changes are undone."""

    change_list_template = "panel/changes/list.html"
    list_display = ("created_at", "action", "kind", "user")
    list_select_related = ("user", "actor", "message")
    list_filter = ("action", "kind", "origin", "created_at")
    search_fields = ("before", "after", "object_id", "operation")  # in their own way: `get_search_results`
    search_help_text = _("Search the newest 10,000 changes, or an ID")
    actions = ("undo_selected",)
    fields = readonly_fields = (
        "created_at", "user", "author", "origin", "action", "kind", "thing", "differences", "cause", "is_undone",
        "object_id", "operation",
    )  # fmt: skip

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Change], search_term: str
    ) -> tuple[QuerySet[Change], bool]:
        return search_changes(queryset, search_term), False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """Names for everybody; IDs, which a search finds, for staff."""
        names = super().get_fields(request, obj)
        return tuple(name for name in names if sees_everybody(request) or name not in ("object_id", "operation"))

    @admin.display(description=_("changed item"))
    def thing(self, change: Change) -> SafeString:
        entry = read_entry(change)
        if not entry.link:
            return format_html('<span class="muted">{}</span>', _("(deleted)"))
        return format_html('<a href="{}" dir="auto">{}</a>', entry.link, entry.name or change.get_kind_display())

    @admin.display(description=_("caused by"))
    def cause(self, change: Change) -> SafeString | str:
        """The message that caused it, in its conversation."""
        if change.message is None:
            return "–"
        url = reverse("admin:conversations_session_change", args=[change.message.session_id])
        said = Truncator(change.message.content).chars(CAUSE_CHARACTERS)
        return format_html('<a href="{0}?at={1}#message-{1}" dir="auto">{2}</a>', url, change.message_id, said)

    @admin.display(description=_("undone"))
    def is_undone(self, change: Change) -> str:
        return str(_("yes") if change.undone_by else _("no"))

    @admin.display(description=_("changed by"))
    def author(self, change: Change) -> str:
        return name_author(change)

    @admin.display(description=_("differences"))
    def differences(self, change: Change) -> str:
        """What was before and is after, for each field that changed; nothing once the object was deleted."""
        return render_to_string("panel/changes/lines.html", {"lines": list(list_lines(change, whole=True))})

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list as a timeline of operations."""
        extra = {"shows_owner": sees_everybody(request), **(extra_context or {})}
        response: HttpResponse = super().changelist_view(request, extra)
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            response.context_data["operations"] = group_operations(response.context_data["cl"].result_list)
        return response

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_undo_permission(self, request: HttpRequest) -> bool:
        """Whoever sees a change may undo it, though the record itself is never changed."""
        return self.has_view_permission(request)

    @admin.action(description=_("Undo selected changes"), permissions=["undo"])
    def undo_selected(self, request: HttpRequest, queryset: QuerySet[Change]) -> HttpResponse | None:
        selected = queryset.select_related("user").order_by("-id")
        if request.POST.get("confirmed") != "yes":
            together = Change.objects.filter(operation__in=selected.values("operation"))
            context = {
                **self.admin_site.each_context(request),
                "title": _("Undo changes"),
                "opts": self.opts,
                "selected": selected,
                "operations": group_operations(together.select_related("actor", "message").order_by("-id")),
                "action_checkbox_name": ACTION_CHECKBOX_NAME,
                "back": request.get_full_path(),
            }
            return TemplateResponse(request, "panel/changes/undo.html", context)
        undone = 0
        # Newest first: a later change has to go before the one it builds on.
        for operation, user in {change.operation: change.user for change in selected}.items():
            try:
                undo_operation(user=user, operation=operation, now=timezone.now())
                undone += 1
            except JiyiError as error:
                self.message_user(request, translate_reason(error.message), level=messages.ERROR)
        if undone:
            text = ngettext("%(count)s change undone.", "%(count)s changes undone.", undone)
            self.message_user(request, text % {"count": undone}, level=messages.SUCCESS)
        return None
