"""Accounts (M7): who there is, how much is remembered of them, links to all their data, and erasing it (R3)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from apps.accounts.models import ApiToken, EndUser, User
from apps.accounts.services.credentials import find_two_factor, switch_off
from apps.accounts.services.erasure import (
    Receipt,
    confirms_erasure,
    count_rows,
    deactivate,
    delete_account,
    erase_user,
    is_last_superuser,
)
from apps.accounts.services.export import answer_export
from apps.accounts.services.people import set_active
from apps.accounts.services.personal_data import list_tables
from apps.conversations.models import Message, Session, Work
from apps.core.errors import JiyiError
from apps.doors.models import ConnectedApp
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext, Status, WorkingMemory
from apps.panel.links import link_list, link_page
from apps.panel.owned import StaffAdmin, choose_owner, column, has_more_privileges, may_erase
from apps.panel.pages import PanelPage, show_page
from apps.panel.refusals import translate_reason
from apps.panel.templatetags.panel import age, chip
from apps.profile.models import UserProfile
from apps.summaries.models import SessionSummary


def count_per(rows: QuerySet[Any], *, by: str = "user") -> Coalesce:
    """An expression: how many of the rows there are that a condition of theirs, on the field `by`, ties to the outer
    row.
    """
    return Coalesce(Subquery(rows.order_by().values(by).annotate(n=Count("*")).values("n")), 0)


def annotate_use(users: QuerySet[Any]) -> Any:
    """Annotate accounts with ``remembered``, the number of active memories, and ``seen``, the last activity."""
    sessions = Session.objects.filter(user=OuterRef("pk")).order_by("-last_active_at")
    return users.annotate(
        remembered=sum_memories(user=OuterRef("pk"), status=Status.ACTIVE),
        seen=Subquery(sessions.values("last_active_at")[:1]),
    )


def sum_memories(*, by: str = "user", **conditions: Any) -> Any:
    """An expression: how many memories of both kinds there are, as `count_per` counts."""
    long_term, atomic = (count_per(kind.objects.filter(**conditions), by=by) for kind in (LongTermMemory, AtomicMemory))
    return long_term + atomic


def shorten_name(name: str) -> SafeString:
    """The name on one line, as far as there is room for it; whole where the pointer rests on it."""
    return format_html('<bdi class="account-name" title="{}">{}</bdi>', name, name)


# The tables whose lists a person's page leads to.
LISTS: tuple[type[Model], ...] = (
    LongTermMemory, AtomicMemory, UserProfile, SessionSummary, WorkingMemory, SharedContext, Session, Message, Change,
    Work, ApiToken, ConnectedApp,
)  # fmt: skip


def list_user_links(user: User, *, erases: bool) -> dict[str, Any]:
    """Where everything of `user` is, as staff get there. `erases`: whether they may erase it.

    ``lists``: title, address and number of rows; ``pages`` about them: title, address, symbol.
    """
    kept = (ApiToken, ConnectedApp)
    counts = count_rows(user) | {table._meta.db_table: table.objects.filter(user=user).count() for table in kept}
    pages = [
        (_("Overview"), link_page("index", user=user), "dashboard"),
        (_("Review queue"), link_page("review", user=user), "inbox"),
        (_("Settings"), link_page("settings", user=user), "tune"),
        (_("Create token"), link_page("accounts_apitoken_add", user=user), "key"),
        *([(_("Erase all data"), link_page("erasure", user=user), "delete_forever")] if erases else []),
    ]
    lists = [
        (str(table._meta.verbose_name_plural), link_list(table, user=user), counts[table._meta.db_table])
        for table in LISTS
    ]
    return {"lists": lists, "pages": pages}


# Erasing everything remembered about a person (R3)


def show_data_counts(user: User) -> dict[str, Any]:
    """What the templates need to say how much there is of a person, by table: title, number, share of the largest."""
    counts = {title: count for title, count in _count_tables(count_rows(user)) if count}
    most = max(counts.values(), default=1)
    tables = [{"title": title, "count": count, "share": round(count / most, 3)} for title, count in counts.items()]
    return {"tables": sorted(tables, key=lambda table: -table["count"]), "total": sum(counts.values())}


def show_receipt(receipt: Receipt, user_id: int) -> dict[str, Any]:
    """What the template of a receipt needs. ``document``: a link that holds it as a file; it is kept nowhere else."""
    now = timezone.now()
    said = {"user": user_id, "erased_at": now.isoformat(timespec="seconds"), **asdict(receipt)}
    data = base64.b64encode(json.dumps(said, indent=2).encode()).decode()
    tables = [{"title": title, "count": count} for title, count in _count_tables(receipt.deleted) if count]
    total = sum(receipt.deleted.values())
    document = f"data:application/json;base64,{data}"
    return {"receipt": receipt, "tables": tables, "total": total, "now": now, "document": document}


def _count_tables(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The tables of personal data by their titles, with these numbers, which are by their names."""
    return [(str(table.model._meta.verbose_name_plural), counts[table.name]) for table in list_tables()]


class _OwnOrServed(PanelPage):
    """A page about one's own data, or, with ``?user=``, about somebody's whose data one may erase."""

    @cached_property
    def owner(self) -> User:
        owner = choose_owner(self.request, or_end_user=True)
        if not may_erase(self.request, owner):
            raise PermissionDenied
        return owner


class ErasurePage(_OwnOrServed):
    """Erases all data of a person once their name was typed."""

    title = gettext_lazy("Erase all data")
    template_name = "panel/erasure/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._show(request, **show_data_counts(self.owner))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Erase, where ``confirm`` is the person's name to the letter; else nothing happens, with status 400."""
        if not confirms_erasure(self.owner, request.POST.get("confirm", "")):
            return self._show(request, status=400, refused=True, **show_data_counts(self.owner))
        return self._show(request, **show_receipt(erase_user(user=self.owner), self.owner.pk))

    def _show(self, request: HttpRequest, **context: Any) -> HttpResponse:
        other = self.owner if self.owner != request.user else None
        return self.render(
            request,
            mine=other is None,
            person=self.owner,
            name=self.owner.external_id if self.owner.service_id else self.owner.get_username(),
            address=link_page("erasure", user=other),
            export_link=link_page("erasure_export", user=other),
            **context,
        )


class ExportPage(_OwnOrServed):
    """Everything remembered about a person as a file, to keep before it is erased (R2)."""

    title = gettext_lazy("Export all data")

    def get(self, request: HttpRequest) -> FileResponse:
        return answer_export(self.owner)


admin.site.unregister(Group)

# What only superusers give and take: with them one could give oneself everything.
PRIVILEGES = ("is_staff", "is_superuser", "user_permissions")

# What staff need a permission for; all else they may, or nobody may.
PERMISSIONS = (
    "change_setting", "add_apitoken", "add_user", "change_user", "delete_user", "add_strategy", "change_strategy",
    "delete_strategy",
)  # fmt: skip


class PersonForm(UserChangeForm):
    """An account without its password, of which even the digest's beginning is nobody's business."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["password"]


@admin.register(User)
class UserAdmin(DjangoUserAdmin, StaffAdmin):  # type: ignore[misc, type-arg]  # typed otherwise; not subscriptable
    """For staff, as far as Django's permissions go; only superusers change privileges, or people who have more."""

    form = PersonForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    change_form_outer_before_template = "panel/accounts/user_links.html"
    list_display = ("shown_username", "standing", "memories", "last_active", "origin", "end_users_count", "date_joined")
    list_select_related = ("service",)
    list_filter = ("is_active", "is_staff", ("service", admin.RelatedOnlyFieldListFilter))
    search_fields = ("username", "email", "external_id")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "email", "password_state")}),
        (gettext_lazy("Permissions"), {"fields": ("is_active", "is_staff", "is_superuser", "user_permissions")}),
        (gettext_lazy("Account origin"), {"fields": ("service", "external_id", "last_login", "date_joined")}),
    )
    readonly_fields = (
        "password_state", "password_link", "service", "external_id", "data_epoch", "last_login", "date_joined",
    )  # fmt: skip
    actions = ("activate", "deactivate")

    class Media:
        css = {"all": ("panel/accounts.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        served = count_per(User.objects.filter(service=OuterRef("pk")), by="service")
        users: QuerySet[User] = annotate_use(super().get_queryset(request)).annotate(served=served)
        return users

    shown_username = column(gettext_lazy("username"), lambda user: shorten_name(user.username), ordering="username")

    @admin.display(description=gettext_lazy("account"), ordering="is_active")
    def standing(self, user: User) -> SafeString:
        if not user.is_active:
            return chip(_("deactivated"), "red")
        if user.is_superuser:
            return chip(_("superuser"), "violet")
        if user.is_staff:
            return chip(_("staff"), "blue")
        if user.service_id:
            return chip(_("end user"))
        return chip(_("active"), "teal")

    @admin.display(description=gettext_lazy("memories"), ordering="remembered")
    def memories(self, user: Any) -> SafeString:
        return format_html('<a href="{}">{}</a>', link_list(LongTermMemory, user=user), user.remembered)

    last_active = column(gettext_lazy("last active"), lambda user: age(user.seen), ordering="seen")

    @admin.display(description=gettext_lazy("service and external ID"), ordering="external_id")
    def origin(self, user: User) -> SafeString | str:
        if user.service is None:
            return "–"
        name = shorten_name(user.external_id)
        return format_html('<span class="muted">{}</span> {}', user.service.username, name)

    @admin.display(description=gettext_lazy("end users"), ordering="served")
    def end_users_count(self, user: Any) -> SafeString | str:
        if not user.served:
            return "–"
        return format_html('<a href="{}">{}</a>', link_list(EndUser, service__id__exact=user.pk), user.served)

    password_state = column(
        gettext_lazy("password"), lambda user: str(_("Set") if user.has_usable_password() else _("No password"))
    )

    @admin.display(description=gettext_lazy("password"))
    def password_link(self, user: User) -> SafeString:
        """The state, with the way to another one: for who may change the account."""
        link = reverse("admin:auth_user_password_change", args=[user.pk])
        words = _("Set a new password") if user.has_usable_password() else _("Set a password")
        return format_html('{} · <a class="row-link" href="{}">{}</a>', self.password_state(user), link, words)

    @admin.action(description=gettext_lazy("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self._set_active(request, queryset, is_active=True)

    @admin.action(description=gettext_lazy("Deactivate (blocks login and tokens)"), permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self._set_active(request, queryset, is_active=False)

    def _set_active(self, request: HttpRequest, users: QuerySet[User], *, is_active: bool) -> None:
        changeable = [user for user in users if self.has_change_permission(request, user)]
        count = 0
        for user in changeable:
            count += user.is_active != is_active and self._change_active(request, user, is_active=is_active)
        text = ngettext("%(count)s account was changed.", "%(count)s accounts were changed.", count)
        self.message_user(request, text % {"count": count}, messages.SUCCESS)

    def _change_active(self, request: HttpRequest, user: User, *, is_active: bool) -> bool:
        try:
            if is_active:
                set_active(ids=[user.pk], is_active=True)
            else:
                deactivate(user=user, by=cast(User, request.user))
        except JiyiError as error:
            self.message_user(request, translate_reason(error.message), messages.ERROR)
            return False
        return True

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user_permissions":
            named = Permission.objects.filter(codename__in=PERMISSIONS).select_related("content_type")
            kwargs |= {"queryset": named, "widget": UnfoldAdminCheckboxSelectMultipleWidget}
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        fields = tuple(super().get_readonly_fields(request, obj))
        if not request.user.is_superuser:
            fields = (*fields, *PRIVILEGES)
        if obj and obj.pk == request.user.pk:  # the last superuser is always who asks
            fields = (*fields, "is_active", "is_staff", "is_superuser")
        return fields

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or not self.has_change_permission(request, obj):
            return fieldsets
        (title, first), *rest = fieldsets
        return [(title, {**first, "fields": ("username", "email", "password_link")}), *rest]

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.active_view))
        two_factor = self.admin_site.admin_view(require_POST(self.two_factor_view))
        return [
            path("<path:object_id>/active/", view, name="accounts_user_active"),
            path("<path:object_id>/two_factor/", two_factor, name="accounts_user_two_factor"),
            *super().get_urls(),
        ]

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return not (obj and has_more_privileges(obj, request)) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        if obj and (obj.pk == request.user.pk or has_more_privileges(obj, request) or is_last_superuser(obj)):
            return False
        return super().has_delete_permission(request, obj)

    def active_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """POST: activate an account (``is_active=yes``) or deactivate it."""
        user = self.get_object(request, object_id)
        if user is None or not self.has_change_permission(request, user):
            raise PermissionDenied
        is_active = request.POST.get("is_active") == "yes"
        if self._change_active(request, user, is_active=is_active):
            done = _("The account was activated.") if is_active else _("The account was deactivated.")
            self.message_user(request, done, messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:accounts_user_change", args=[user.pk]))

    def two_factor_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """POST: let somebody log in without a code who has lost their phone; only superusers do."""
        user = self.get_object(request, object_id)
        if user is None or not request.user.is_superuser:
            raise PermissionDenied
        if switch_off(user=user):
            self.log_change(request, user, "Two-factor authentication was turned off.")
        self.message_user(request, _("Two-factor authentication of this account is off."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:accounts_user_change", args=[user.pk]))

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Deletes an account and everything of the person, once their name was typed; answers with a receipt."""
        user = self.get_object(request, object_id)
        if user is None or not self.has_delete_permission(request, user):
            raise PermissionDenied
        key, end_users = user.pk, User.objects.filter(service=user.pk)
        context = {
            "title": _("Delete person"),
            "opts": self.opts,
            "person": user,
            "name": user.external_id if user.service_id else user.get_username(),
            "end_users": end_users.count(),
            "back": reverse("admin:accounts_user_changelist"),
            **(extra_context or {}),
        }
        status = 200
        if request.method == "POST" and confirms_erasure(user, request.POST.get("confirm", "")):
            logged = [str(pk) for pk in (key, *end_users.values_list("pk", flat=True))]
            try:
                receipt = delete_account(user=user, by=cast(User, request.user))
            except JiyiError as error:
                self.message_user(request, translate_reason(error.message), messages.ERROR)
                return HttpResponseRedirect(reverse("admin:accounts_user_change", args=[key]))
            if receipt.verified:
                # The admin's log keeps the names of accounts that were changed.
                about = ContentType.objects.get_for_models(User, EndUser, for_concrete_models=False).values()
                LogEntry.objects.filter(content_type__in=about, object_id__in=logged).delete()
            context |= {**show_receipt(receipt, key), "account_deleted": receipt.verified}
        else:
            refused = request.method == "POST"
            status = 400 if refused else 200
            context |= {**show_data_counts(user), "refused": refused}
        return show_page(request, "panel/accounts/delete.html", status=status, **context)

    def describe_form(self, request: HttpRequest, row: User) -> dict[str, Any]:
        return {
            "user_links": list_user_links(row, erases=may_erase(request, row)),
            "person": row,
            "may_deactivate": row.pk != request.user.pk and self.has_change_permission(request, row),
            "may_remove_two_factor": bool(request.user.is_superuser and find_two_factor(row)),
            "may_delete": self.has_delete_permission(request, row),
            "show_delete": False,
        }
