"""Shared contexts in the panel: what a case is about, and what was added to it, by whom and when (X1, X3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Func, IntegerField, QuerySet, Sum
from django.db.models.functions import Left
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.core.errors import JiyiError
from apps.core.text.clean import find_forbidden
from apps.memory.contexts import MAX_AUTHOR_CHARACTERS, MAX_CONTEXT_BYTES, append_entry, create_context, delete_context
from apps.memory.models import ContextEntry, SharedContext
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.pages import CardList, ReadingPage, is_partial, with_toast
from apps.panel.refusals import translate_reason

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


@dataclass(frozen=True, slots=True)
class ContextCard:
    """A context in the list."""

    row: SharedContext
    start: str
    entries: int
    size: Size


class SharedContextForm(ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Checks what the service checks, so that the form shows the reasons."""

    class Meta:
        model = SharedContext
        fields = ("user", "title", "content")

    def clean_title(self) -> str:
        return _check_characters(self.cleaned_data["title"])

    def clean_content(self) -> str:
        content = _check_characters(self.cleaned_data["content"])
        if len(content.encode()) > MAX_CONTEXT_BYTES:
            raise ValidationError(_("A shared context can have at most 64 KiB of text."))
        return content


@admin.register(SharedContext)
class SharedContextAdmin(CardList, ReadingPage, OwnedAdmin):
    """The background of cases, with what agents added. Nothing in it is changed; it is added to, or deleted whole."""

    card_template = "panel/contexts/card.html"
    empty_template = "panel/contexts/empty.html"
    form = SharedContextForm
    list_display = ("title", "user", "session", "created_at", "updated_at")
    list_select_related = ("user",)
    list_filter = ("created_at",)
    search_fields = ("title", "content", "user__username")
    autocomplete_fields = ("user",)
    fields = ("user", "title", "content")

    class Media:
        css = {"all": ["panel/remembered.css"]}

    def get_urls(self) -> list[Any]:
        add = self.admin_site.admin_view(self.add_entry)
        return [
            path("<uuid:context_id>/entries/", add, name="memory_sharedcontext_entries"),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SharedContext]:
        queryset: QuerySet[SharedContext] = super().get_queryset(request)
        if "object_id" in (request.resolver_match.kwargs if request.resolver_match else {}):
            return queryset
        return queryset.defer("content").annotate(start=Left("content", START_CHARACTERS))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def describe_cards(self, request: HttpRequest, rows: Sequence[SharedContext]) -> list[ContextCard]:
        ids = [row.id for row in rows]
        own = SharedContext.objects.filter(id__in=ids).values_list("id", _byte_length("content"))
        content = dict(own)
        added = ContextEntry.objects.filter(context__in=ids, withdrawn=False).order_by().values("context")
        entries = {
            row["context"]: (row["count"], row["size"])
            for row in added.annotate(count=Count("id"), size=Sum(_byte_length("text")))
        }
        return [
            ContextCard(
                row=row,
                start=getattr(row, "start", ""),
                entries=entries.get(row.id, (0, 0))[0],
                size=Size(content.get(row.id, 0) + entries.get(row.id, (0, 0))[1]),
            )
            for row in rows
        ]

    def show(self, request: HttpRequest, row: SharedContext) -> tuple[str, dict[str, Any]]:
        return "panel/contexts/context.html", {"title": row.title, **self.describe(request, row)}

    def describe(self, request: HttpRequest, row: SharedContext) -> dict[str, Any]:
        """Return what the entries of a context, and the form below them, need."""
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

    def add_entry(self, request: HttpRequest, context_id: UUID) -> HttpResponse:
        """POST ``text`` and ``author``: add to a context. 404 for none and another's."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        context = self.get_queryset(request).select_related("user").filter(id=context_id).first()
        if context is None:
            raise Http404(_("This context does not exist."))
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
            reasons = [reason for found in error.fields.values() for reason in found] or [error.message]
            problem = " ".join(map(translate_reason, reasons))
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
        made = create_context(user=owner, title=obj.title, content=obj.content, now=timezone.now())
        obj.id, obj.user = made.id, made.user
        obj._state.adding = False

    def delete_model(self, request: HttpRequest, obj: SharedContext) -> None:
        delete_context(user=obj.user, context_id=obj.id, now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SharedContext]) -> None:
        for context in queryset.select_related("user"):
            delete_context(user=context.user, context_id=context.id, now=timezone.now())


def _check_characters(text: str) -> str:
    if found := find_forbidden(text):
        raise ValidationError(_("Must not contain %(found)s.") % {"found": found})
    return text


def _byte_length(field: str) -> Func:
    return Func(field, function="octet_length", output_field=IntegerField())
