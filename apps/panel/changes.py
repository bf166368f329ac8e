"""The audit record in the admin site (L7): who changed what, as differences, and undoing."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from apps.core.errors import JiyiError
from apps.memory.history.undo import undo_operation
from apps.memory.models import Change
from apps.panel.owned import ReadOnlyAdmin


@admin.register(Change)
class ChangeAdmin(ReadOnlyAdmin):
    """Every change of what is remembered, newest first. Records are neither edited nor deleted; changes are undone."""

    list_display = ("created_at", "action", "kind", "object_id", "user", "author", "origin", "undone")
    list_select_related = ("user", "actor")
    list_filter = ("action", "kind", "origin", "created_at")
    search_fields = ("object_id", "operation", "user__username")
    actions = ("undo_selected",)
    fields = readonly_fields = (
        "created_at", "user", "author", "origin", "action", "kind", "object_id", "differences", "operation",
        "undone_by",
    )  # fmt: skip

    @admin.display(description=_("actor"))
    def author(self, change: Change) -> str:
        return change.actor.get_username() if change.actor else str(_("the machine"))

    @admin.display(description=_("undone"), boolean=True)
    def undone(self, change: Change) -> bool:
        return change.undone_by is not None

    @admin.display(description=_("differences"))
    def differences(self, change: Change) -> SafeString | str:
        """What was before and is after, for each field that changed; nothing once the object was deleted."""
        before, after = change.before or {}, change.after or {}
        changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        rows = ((name, _show(before.get(name)), _show(after.get(name))) for name in changed)
        lines = format_html_join("", "<li>{}: <del>{}</del> <ins>{}</ins></li>", rows)
        return format_html("<ul>{}</ul>", lines) if lines else "-"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_undo_permission(self, request: HttpRequest) -> bool:
        """Whoever sees a change may undo it, though the record itself is never changed."""
        return self.has_view_permission(request)

    @admin.action(description=_("Undo selected changes"), permissions=["undo"])
    def undo_selected(self, request: HttpRequest, queryset: QuerySet[Change]) -> HttpResponse | None:
        selected = queryset.select_related("user").order_by("-id")
        if request.POST.get("confirmed") != "yes":
            operations = selected.values("operation")
            context = {
                **self.admin_site.each_context(request),
                "title": _("Undo changes"),
                "opts": self.opts,
                "selected": selected,
                "changes": Change.objects.filter(operation__in=operations).order_by("-id"),
                "action_checkbox_name": ACTION_CHECKBOX_NAME,
                "back": request.get_full_path(),
            }
            return TemplateResponse(request, "panel/undo_confirmation.html", context)
        undone = 0
        # Newest first: a later change has to go before the one it builds on.
        for operation, user in {change.operation: change.user for change in selected}.items():
            try:
                undo_operation(user=user, operation=operation, now=timezone.now())
                undone += 1
            except JiyiError as error:
                self.message_user(request, f"{operation}: {error.message}", level=messages.ERROR)
        if undone:
            text = ngettext("%(count)s operation was undone.", "%(count)s operations were undone.", undone)
            self.message_user(request, text % {"count": undone}, level=messages.SUCCESS)
        return None


def _show(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
