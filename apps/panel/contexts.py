"""Shared contexts in the panel: what a case is about, and what was added to it, by whom and when (X1, X3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import Count, Func, IntegerField, QuerySet, Sum
from django.db.models.functions import Left
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.spaces import get_space
from apps.core.errors import JiyiError
from apps.memory.contexts import MAX_AUTHOR_CHARACTERS, MAX_CONTEXT_BYTES, append_entry, create_context, delete_context
from apps.memory.models import ContextEntry, SharedContext
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.pages import CardList, ReadingPage, is_partial, with_toast
from apps.panel.refusals import list_reasons
from apps.panel.spaces import SpaceField, SpaceFilter, list_choices

START_CHARACTERS = 240

# On the page of a context, the newest.
ENTRIES = 100


@dataclass(frozen=True, slots=True)
class Size:
    """How much of the room of a context is taken."""

    bytes: int
    most: int = MAX_CONTEXT_BYTES

    @property
    def share(self) -> float:
        return min(self.bytes / self.most, 1)


@admin.register(SharedContext)
class SharedContextAdmin(CardList, ReadingPage, OwnedAdmin):
    """The background of cases, with what agents added. Nothing in it is changed; it is added to, or deleted whole."""

    never = ("change",)
    card_template = "panel/contexts/card.html"
    empty = (
        "folder_shared",
        gettext_lazy("No shared contexts yet"),
        gettext_lazy(
            "The background of a case that several assistants share. One is created when a message describes a case, "
            "or by an application."
        ),
        "admin:memory_sharedcontext_add",
        gettext_lazy("Create one"),
    )
    list_display = ("title", "user", "session", "created_at", "updated_at")
    list_select_related = ("user", "space")
    list_filter = (SpaceFilter, "created_at")
    search_fields = ("title", "content", "user__username")
    autocomplete_fields = ("user",)
    acts = ("add_entry",)
    fields = ("user", "space", "title", "content")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SharedContext]:
        queryset: QuerySet[SharedContext] = super().get_queryset(request)
        if "object_id" in (request.resolver_match.kwargs if request.resolver_match else {}):
            return queryset
        return queryset.defer("content").annotate(start=Left("content", START_CHARACTERS))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        has_spaces = list_choices(cast(User, request.user)).exists()
        return tuple(name for name in super().get_fields(request, obj) if has_spaces or name != "space")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "space":
            kwargs |= {"form_class": SpaceField, "queryset": list_choices(cast(User, request.user))}
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def describe_cards(self, request: HttpRequest, rows: Sequence[SharedContext]) -> list[dict[str, Any]]:
        """How each begins, how many entries it has, and how much of its room is taken."""
        ids = [row.id for row in rows]
        own = SharedContext.objects.filter(id__in=ids).values_list("id", _byte_length("content"))
        content = dict(own)
        added = ContextEntry.objects.filter(context__in=ids, withdrawn=False).order_by().values("context")
        entries = {
            row["context"]: (row["count"], row["size"])
            for row in added.annotate(count=Count("id"), size=Sum(_byte_length("text")))
        }
        return [
            {
                "row": row,
                "start": row.start,  # type: ignore[attr-defined]  # annotated
                "entries": entries.get(row.id, (0, 0))[0],
                "size": Size(content.get(row.id, 0) + entries.get(row.id, (0, 0))[1]),
            }
            for row in rows
        ]

    def show(self, request: HttpRequest, row: SharedContext) -> tuple[str, dict[str, Any]]:
        return "panel/contexts/context.html", {"title": row.title, **self.describe(request, row)}

    def describe(self, request: HttpRequest, row: SharedContext) -> dict[str, Any]:
        entries = ContextEntry.objects.filter(context=row, withdrawn=False)
        told = entries.aggregate(count=Count("id"), size=Sum(_byte_length("text")))
        newest = list(entries.order_by("-position")[:ENTRIES])
        return {
            "context": row,
            "entries": newest[::-1],
            "earlier": told["count"] - len(newest),
            "size": Size(len(row.content.encode()) + (told["size"] or 0)),
            "typed": {"author": request.user.get_username(), "text": ""},
            "max_author": MAX_AUTHOR_CHARACTERS,
            "sees_everybody": sees_everybody(request),
        }

    def add_entry(self, request: HttpRequest, context: SharedContext) -> HttpResponse:
        """POST ``text`` and ``author``: add to a context."""
        typed = {"author": request.POST.get("author", ""), "text": request.POST.get("text", "")}
        problem = ""
        try:
            append_entry(
                user=context.user,
                context_id=context.id,
                text=typed["text"],
                author=typed["author"],
                now=timezone.now(),
            )
        except JiyiError as error:
            problem = list_reasons(error)
        if is_partial(request):
            told = self.describe(request, context) | ({"problem": problem, "typed": typed} if problem else {})
            response = TemplateResponse(request, "panel/contexts/entries.html", told)
            return response if problem else with_toast(response, _("Added."))
        messages.add_message(request, messages.ERROR if problem else messages.SUCCESS, problem or _("Added."))
        return redirect("admin:memory_sharedcontext_change", context.pk)

    def save_model(
        self, request: HttpRequest, obj: SharedContext, form: ModelForm[SharedContext], change: bool
    ) -> None:
        owner = obj.user if sees_everybody(request) else cast(User, request.user)
        there = owner.within(get_space(owner, obj.space_id).pk if obj.space_id else None)
        made = create_context(user=there, title=obj.title, content=obj.content, now=timezone.now())
        obj.id, obj.user = made.id, made.user
        obj._state.adding = False

    def delete_model(self, request: HttpRequest, obj: SharedContext) -> None:
        delete_context(user=obj.user, context_id=obj.id, now=timezone.now())


def _byte_length(field: str) -> Func:
    return Func(field, function="octet_length", output_field=IntegerField())
