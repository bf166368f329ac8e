"""Who may do what in the panel (M7): staff look after everybody's data, everybody else sees and changes their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.models import Permission
from django.core.paginator import Page, Paginator
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from apps.accounts.models import User
from apps.panel.refusals import RefusalsShown
from apps.panel.texts import read_number


def sees_everybody(request: HttpRequest) -> bool:
    """Whether who asks is one of the people who look after everybody's memories."""
    return bool(request.user.is_active and getattr(request.user, "is_staff", False))


class KeysetFirstPaginator(Paginator):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Finds which rows a page has by their keys alone, and reads only those; all in one statement.

    An index may answer the first, so that pages far back cost little, and no wide column or figure of a row is read
    for all the rows before it.
    """

    object_list: QuerySet[Any]

    def page(self, number: Any) -> Page[Any]:
        found = super().page(number)
        keys = cast(QuerySet[Any], found.object_list).values("pk")
        return Page(self.object_list.filter(pk__in=keys), found.number, self)


class OwnerFilter(AutocompleteSelectFilter):
    """Narrows a list to one person; only staff get it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = _("user")


def column(label: Any, show: Callable[[Any], Any], *, ordering: str | None = None) -> Any:
    """Return a column of a list, or a field of a form: what `show` returns of a row. ``ordering``: what sorts by it."""
    return admin.display(description=label, ordering=ordering)(lambda _page, row: show(row))


class PanelAdmin(ModelAdmin):
    """What all the panel's lists and forms have in common."""

    show_full_result_count = False
    paginator = KeysetFirstPaginator
    list_filter_submit = True
    list_per_page = 50
    compressed_fields = True
    warn_unsaved_form = True
    delete_confirmation_template = delete_selected_confirmation_template = "panel/confirm.html"

    def describe_list(self, request: HttpRequest, rows: Sequence[Any]) -> dict[str, Any]:
        """Return what the list's own templates need besides; `rows`: those of its page."""
        return {}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            response.context_data |= self.describe_list(request, response.context_data["cl"].result_list)
        return response

    def describe_form(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the templates of a row's own page need besides."""
        return {}

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, obj: Any = None, **how: Any) -> Any:
        needed = self.describe_form(request, obj) if obj else {}
        return super().render_change_form(request, {**context, **needed}, *args, obj=obj, **how)


class OwnedAdmin(RefusalsShown, PanelAdmin):
    """A page of rows that each belong to one person. Lists leave the column and filter of the person to staff.

    ``owner``: name of the foreign key to the person. ``never``: what nobody does with such rows, of "add", "change" and
    "delete"; all else is allowed for one's own rows, and for staff for all.

    ``parts``, ``acts``: names of methods that get a request and a row, each at an address of its own below the row's;
    acts are only posted to.
    """

    owner: ClassVar[str] = "user"
    never: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[tuple[str, ...]] = ()
    acts: ClassVar[tuple[str, ...]] = ()

    def get_urls(self) -> list[Any]:
        base = f"{self.opts.app_label}_{self.opts.model_name}"
        below = []
        for name in (*self.parts, *self.acts):
            view = partial(self.answer_below, name=name)
            view = self.admin_site.admin_view(require_POST(view) if name in self.acts else view)
            below.append(path(f"<uuid:key>/{name.replace('_', '-')}/", view, name=f"{base}_{name}"))
        return [*below, *super().get_urls()]

    def answer_below(self, request: HttpRequest, key: UUID, *, name: str) -> HttpResponse:
        response: HttpResponse = getattr(self, name)(request, self.find(request, key))
        return response

    def find(self, request: HttpRequest, key: UUID | None) -> Any:
        """Return the row that who asks may see, else 404."""
        row = self.get_queryset(request).select_related(*self.list_select_related).filter(pk=key).first()
        if row is None or not self.has_view_permission(request, row):
            raise Http404
        return row

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request)
        return queryset if sees_everybody(request) else queryset.filter(**{self.owner: request.user})

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        return self._for(request, super().get_list_display(request))

    def get_list_filter(self, request: HttpRequest) -> tuple[Any, ...]:
        filters = tuple(super().get_list_filter(request))
        return (*filters, (self.owner, OwnerFilter)) if sees_everybody(request) else filters

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        return self._for(request, super().get_fields(request, obj))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        names = super().get_readonly_fields(request, obj)
        return self._for(request, dict.fromkeys([*names, self.owner] if obj else names))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {self.owner: request.user.pk, **super().get_changeform_initial_data(request)}

    def _for(self, request: HttpRequest, names: Any) -> tuple[Any, ...]:
        """`names` without the owner, which only staff need to see."""
        return tuple(name for name in names if sees_everybody(request) or name != self.owner)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete the selected rows as each would be by itself: by its service."""
        for row in queryset.select_related(self.owner):
            self.delete_model(request, row)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return "add" not in self.never and self._may(request, None)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return "change" not in self.never and self._may(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return "delete" not in self.never and self._may(request, obj)

    def _may(self, request: HttpRequest, obj: Model | None) -> bool:
        if not request.user.is_active:
            return False
        if obj is None or not isinstance(obj, self.model) or sees_everybody(request):
            return True
        return bool(getattr(obj, f"{self.owner}_id") == request.user.pk)


class StaffAdmin(PanelAdmin):
    """A page for staff: all of them may look; adding, changing and deleting take Django's permissions for it."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return sees_everybody(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_everybody(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return sees_everybody(request) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_everybody(request) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_everybody(request) and super().has_delete_permission(request, obj)


class ReadOnlyAdmin(OwnedAdmin):
    """Can be looked at, and deleted where that makes sense."""

    never: ClassVar[tuple[str, ...]] = ("add", "change")


class PartAdmin(ReadOnlyAdmin):
    """Read-only; it is deleted only with the object it is part of."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        page = getattr(request.resolver_match, "url_name", None) or ""
        own = page.startswith(f"{self.opts.app_label}_{self.opts.model_name}_")
        return not own and super().has_delete_permission(request, obj)


def choose_owner(request: HttpRequest, *, or_end_user: bool = False, name: str = "user") -> User:
    """Return the person whose data a page shows: who asks, or for staff whom the parameter `name` (an ID) names.

    With `or_end_user` a service names its end users, too. An unknown or malformed ID, and any that who asks may not
    name, is who asks: nobody learns who exists. Only what one changes for somebody else is not to become one's own
    because that one is gone: then it is 404.
    """
    named = request.GET.get(name, "") or request.POST.get(name, "")
    people = User.objects.all() if sees_everybody(request) else User.objects.filter(service=request.user.pk)
    may_name = sees_everybody(request) or or_end_user
    if may_name and (number := read_number(named)) is not None:
        found = people.filter(pk=number).first()
        if found is not None:
            return found
    if may_name and named and request.method == "POST":
        raise Http404
    return request.user  # type: ignore[return-value]  # the site lets nobody in who is not logged in


def may_erase(request: HttpRequest, user: User) -> bool:
    """Whether who asks may erase and export everything of `user`: their own, their service's, or with a permission."""
    if request.user.pk in (user.pk, user.service_id):
        return True
    # The permission to delete the account: what is left of one that was erased is its name.
    allowed = request.user.is_active and request.user.has_perm("accounts.delete_user")
    return allowed and getattr(request.user, "is_staff", False) and not has_more_privileges(user, request)


def has_more_privileges(user: User, request: HttpRequest) -> bool:
    """Whether somebody may more than who asks, counting what a deactivated account could again."""
    if getattr(request.user, "is_superuser", False) or user.pk == request.user.pk:
        return False
    if user.is_superuser:
        return True
    if not user.is_staff:
        return False
    granted = Permission.objects.filter(Q(user=user) | Q(group__user=user)).select_related("content_type")
    own = request.user.get_all_permissions()
    return any(f"{one.content_type.app_label}.{one.codename}" not in own for one in granted)
