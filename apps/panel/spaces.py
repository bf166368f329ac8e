"""Spaces (P1, P4): cards of a person's own, their editor, deleting them; fields, filters and moves of other pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext
from unfold.contrib.filters.admin import DropdownFilter

from apps.accounts.models import Space, User
from apps.accounts.spaces import NONE, create_space, list_spaces, update_space
from apps.core.errors import InvalidInput, JiyiError
from apps.memory.spaces import count_contents, delete_space, with_counts
from apps.panel.owned import OwnedAdmin, choose_owner, sees_everybody
from apps.panel.pages import UNPROCESSABLE, CardList, show_page
from apps.panel.refusals import list_reasons
from apps.panel.texts import read_id


def list_choices(user: User) -> QuerySet[Space]:
    """Return the spaces that something of this person can be put into."""
    return list_spaces(user).filter(archived=False)


def read_place(given: Mapping[str, str]) -> UUID | None:
    """Return the ID of the space that a form names in ``space``, None for everywhere; 404 for anything else."""
    named = given.get("space", "")
    if named in ("", NONE):
        return None
    space_id = read_id(named)
    if space_id is None:
        raise Http404(_("This space does not exist."))
    return space_id


class SpaceField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not subscriptable when it runs
    """One of a person's spaces, by name; empty: everywhere."""

    def __init__(self, queryset: QuerySet[Space], **given: Any) -> None:
        given |= {"empty_label": gettext_lazy("everywhere"), "label": gettext_lazy("Space"), "required": False}
        super().__init__(queryset, **given)

    def label_from_instance(self, obj: Any) -> str:
        return str(obj.name)


class SpaceFilter(DropdownFilter):
    """Narrow a list to what is everywhere, or in one of the spaces of whom the list is about."""

    title = gettext_lazy("space")
    parameter_name = "space"
    field: ClassVar[str] = "space"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        spaces = [(str(space.pk), space.name) for space in list_spaces(choose_owner(request, name="user__id__exact"))]
        return [(NONE, _("everywhere")), *spaces] if spaces else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == NONE:
            return queryset.filter(**{f"{self.field}__isnull": True})
        if self.value():
            space_id = read_id(self.value())
            return queryset.filter(**{self.field: space_id}) if space_id else queryset.none()
        return queryset


class SessionSpaceFilter(SpaceFilter):
    """By the space of the conversation that a row is about."""

    field = "session__space"


def tell_counts(counts: Mapping[str, int]) -> list[str]:
    """Return what is in a space, or was, in words."""
    words = {
        "long_term": ngettext("%(count)s long-term memory", "%(count)s long-term memories", counts.get("long_term", 0)),
        "atomic": ngettext("%(count)s atomic memory", "%(count)s atomic memories", counts.get("atomic", 0)),
        "context": ngettext("%(count)s shared context", "%(count)s shared contexts", counts.get("context", 0)),
        "session": ngettext("%(count)s conversation", "%(count)s conversations", counts.get("session", 0)),
    }
    return [text % {"count": counts[name]} for name, text in words.items() if counts.get(name)]


class SpaceForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    def _get_validation_exclusions(self) -> set[str]:
        # Names that are taken are left to the service, which says so in words.
        return {*super()._get_validation_exclusions(), "user"}  # type: ignore[misc]  # Django's own


@admin.register(Space)
class SpaceAdmin(CardList, OwnedAdmin):
    """Everybody's own spaces. What is done with them is done by the services that the API calls."""

    form = SpaceForm
    card_template = "panel/spaces/card.html"
    empty = (
        "workspaces",
        gettext_lazy("Projects, assistants and characters"),
        gettext_lazy(
            "What is remembered in a space stays there: the novel does not hear of the tax return. What is everywhere "
            "is known in all spaces."
        ),
        "admin:accounts_space_add",
        gettext_lazy("Create a space"),
    )
    list_display = ("name", "user", "kind", "learns_to", "paused", "archived", "created_at")
    list_select_related = ("user",)
    list_filter = ("archived", "paused", "kind")
    search_fields = ("name",)
    search_help_text = gettext_lazy("Search names")
    autocomplete_fields = ("user",)
    fields = ("user", "name", "kind", "instructions", "learns_to", "paused", "archived")
    actions = None
    acts = ("archive", "pause")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return with_counts(super().get_queryset(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        return tuple(name for name in super().get_fields(request, obj) if obj or name != "archived")

    def describe_cards(self, request: HttpRequest, rows: Sequence[Space]) -> list[dict[str, Any]]:
        return [{"row": row} for row in rows]

    def save_model(self, request: HttpRequest, obj: Space, form: Any, change: bool) -> None:
        fields = {name: value for name, value in form.cleaned_data.items() if name != "user"}
        if change:
            update_space(user=obj.user, space_id=obj.pk, changes={name: fields[name] for name in form.changed_data})
            return
        made = create_space(user=obj.user if sees_everybody(request) else cast(User, request.user), **fields)
        obj.pk, obj.user = made.pk, made.user
        obj._state.adding = False

    def archive(self, request: HttpRequest, space: Space) -> HttpResponse:
        """POST: archive a space, or take it back; nothing in it changes."""
        update_space(user=space.user, space_id=space.pk, changes={"archived": not space.archived})
        messages.success(request, _("The space was restored.") if space.archived else _("The space was archived."))
        return redirect("admin:accounts_space_changelist")

    def pause(self, request: HttpRequest, space: Space) -> HttpResponse:
        """POST: pause what is remembered from a space's conversations, or resume it (D5)."""
        update_space(user=space.user, space_id=space.pk, changes={"paused": not space.paused})
        messages.success(request, _("Remembering was resumed.") if space.paused else _("Remembering was paused."))
        return redirect("admin:accounts_space_changelist")

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """GET: what is in it, and what shall become of that. POST ``memories``: "move" it ``to`` another place, or
        "erase" it once the name is typed in ``confirm``; answers with the receipt."""
        space = self.find(request, read_id(object_id))
        told: dict[str, Any] = {"title": _("Delete space"), "opts": self.opts, "name": space.name}
        others, template = list_spaces(space.user).exclude(pk=space.pk), "panel/spaces/delete.html"
        given, problem = request.POST, ""
        if request.method == "POST":
            erase, to = given.get("memories") == "erase", read_place({"space": given.get("to", "")})
            target = others.filter(pk=to).first() if to else None
            try:
                if erase and given.get("confirm", "").strip() != space.name:
                    raise InvalidInput(gettext_noop("The name does not match. Nothing was deleted."))
                if not erase and given.get("memories") != "move":
                    raise InvalidInput(gettext_noop("Choose what shall become of it."))
                receipt = delete_space(user=space.user, space_id=space.pk, erase=erase, to=to, now=timezone.now())
            except JiyiError as error:
                problem = list_reasons(error)
            else:
                told |= {"receipt": receipt, "erase": erase, "target": target}
                return show_page(request, template, **told, lines=tell_counts(receipt.erased or receipt.moved))
        told |= {"space": space, "others": others, "given": given, "problem": problem}
        told["lines"] = tell_counts(count_contents(space))
        return show_page(request, template, status=UNPROCESSABLE if problem else 200, **told)
