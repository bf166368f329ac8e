"""Working memory of live sessions (W1): the topic, the variables as a tree, and the forms people filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.selectors import get_settings, working_ttl
from apps.core.errors import JiyiError
from apps.memory.models import WorkingMemory
from apps.memory.working import (
    FORM_PREFIX,
    Variables,
    delete_working_memory,
    holds_form,
    measure,
    update_working_memory,
)
from apps.panel.owned import ReadOnlyAdmin, sees_everybody
from apps.panel.pages import CardList, ReadingPage, is_partial, with_toast
from apps.panel.refusals import translate_reason
from apps.panel.texts import shorten
from apps.panel.words import show_value

# Below it a value is shown as JSON.
MAX_DEPTH = 5

MAX_CHILDREN = 200
MAX_CHARACTERS = 5_000

Kind = Literal["text", "number", "truth", "nothing", "group"]


@dataclass(frozen=True, slots=True)
class Node:
    """A value under its name. A group has `children`, and `left_out` more that are not shown."""

    name: str
    kind: Kind
    text: str = ""
    children: Sequence[Node] = ()
    left_out: int = 0

    @property
    def count(self) -> int:
        return len(self.children) + self.left_out


def grow_tree(values: Mapping[str, Any]) -> list[Node]:
    return [_grow(name, value, depth=1) for name, value in values.items()]


def _grow(name: str, value: Any, *, depth: int) -> Node:
    if isinstance(value, bool):
        return Node(name=name, kind="truth", text="true" if value else "false")
    if isinstance(value, int | float):
        return Node(name=name, kind="number", text=str(value))
    if value in (None, "", [], {}):
        return Node(name=name, kind="nothing")
    if isinstance(value, dict | list) and value and depth < MAX_DEPTH:
        pairs = (
            list(value.items())
            if isinstance(value, dict)
            else [(str(i), item) for i, item in enumerate(value, start=1)]
        )
        shown = [_grow(child, item, depth=depth + 1) for child, item in pairs[:MAX_CHILDREN]]
        return Node(name=name, kind="group", children=shown, left_out=len(pairs) - len(shown))
    return Node(name=name, kind="text", text=shorten(show_value(value), MAX_CHARACTERS))


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A form that somebody filled in. `name`: of its variable."""

    name: str
    title: str
    fields: Sequence[Node]
    submitted_at: datetime | None


@admin.register(WorkingMemory)
class WorkingMemoryAdmin(CardList, ReadingPage, ReadOnlyAdmin):
    """The current context of live sessions; a variable or form of it can be removed, or all of it deleted."""

    card_template = "panel/working/card.html"
    empty = (
        "memory",
        gettext_lazy("No active working memory"),
        gettext_lazy(
            "While you chat, the topic and key details of the conversation are kept here. They expire some time after "
            "the last message."
        ),
        "chat",
        gettext_lazy("Start a conversation"),
    )
    list_display = ("session", "user", "current_topic", "turn_count", "last_emotion", "updated_at")
    list_select_related = ("user",)
    acts = ("remove_variable",)
    list_filter = ("last_emotion", "updated_at")
    search_fields = ("user__username", "current_topic")
    fields = readonly_fields = ("session", "user", "current_topic", "turn_count", "last_emotion", "updated_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkingMemory]:
        queryset: QuerySet[WorkingMemory] = super().get_queryset(request)
        return queryset.annotate(expires_at=F("updated_at") + working_ttl(user="user"))

    def describe_cards(self, request: HttpRequest, rows: Sequence[WorkingMemory]) -> list[dict[str, Any]]:
        return [_describe_card(row) for row in rows]

    def show(self, request: HttpRequest, row: WorkingMemory) -> tuple[str, dict[str, Any]]:
        return "panel/working/session.html", {"title": self.opts.verbose_name, **self.describe(request, row)}

    def describe(self, request: HttpRequest, row: WorkingMemory) -> dict[str, Any]:
        variables = Variables.load(row.context_variables, row.written)
        card = _describe_card(row)
        most = get_settings(row.user).working_max_bytes
        size = measure(variables.values)
        odd = {FORM_PREFIX + title: value for title, value in variables.forms.items() if not holds_form(value)}
        return {
            "memory": row,
            "card": card,
            "tree": grow_tree({**variables.plain, **odd}),
            "forms": [_read_form(title, value) for title, value in variables.forms.items() if holds_form(value)],
            "size": {"bytes": size, "most": most, "share": min(size / most, 1)},
            "sees_everybody": sees_everybody(request),
        }

    def remove_variable(self, request: HttpRequest, row: WorkingMemory) -> HttpResponse:
        """POST ``name``: remove a variable or form."""
        problem, name = "", request.POST.get("name", "")
        try:
            changes = {"context_variables": {name: None}}
            update_working_memory(user=row.user, session_id=row.session_id, changes=changes, now=timezone.now())
        except JiyiError as error:
            problem = translate_reason(error.message)
        if not is_partial(request):
            return redirect("admin:memory_workingmemory_change", row.pk)
        fresh = row if problem else self.find(request, row.pk)
        response = TemplateResponse(request, "panel/working/memory.html", self.describe(request, fresh))
        return with_toast(response, problem or _("Removed."), is_error=bool(problem))

    def delete_model(self, request: HttpRequest, obj: WorkingMemory) -> None:
        delete_working_memory(user=obj.user, session_id=obj.session_id)


def _describe_card(row: WorkingMemory) -> dict[str, Any]:
    variables = Variables.load(row.context_variables, row.written)
    expires_at: datetime = row.expires_at  # type: ignore[attr-defined]  # annotated
    return {
        "row": row,
        "expires_at": expires_at,
        "expired": expires_at < timezone.now(),
        "emotion": row.last_emotion or "",
        "names": list(variables.plain),
        "forms": list(variables.forms),
    }


def _read_form(title: str, value: dict[str, Any]) -> FilledForm:
    stamp = value["timestamp"]
    try:
        submitted_at = parse_datetime(stamp) if isinstance(stamp, str) else None
    except ValueError:
        submitted_at = None
    return FilledForm(
        name=f"{FORM_PREFIX}{title}",
        title=title,
        fields=grow_tree(value["fields"]),
        submitted_at=submitted_at if submitted_at and timezone.is_aware(submitted_at) else None,
    )
