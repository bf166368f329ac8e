"""Accounts: who there is, how much is remembered of them, and links to all their data (M7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from apps.accounts.models import ApiToken, EndUser, User
from apps.accounts.services.credentials import find_two_factor, switch_off
from apps.accounts.services.erasure import confirms_erasure, count_rows, deactivate, delete_account, is_last_superuser
from apps.accounts.services.people import set_active
from apps.conversations.models import Message, Session, Work
from apps.core.errors import JiyiError
from apps.doors.models import ConnectedApp
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext, Status, WorkingMemory
from apps.panel.accounts.erasure import show_data_counts, show_receipt
from apps.panel.links import link_list, link_page
from apps.panel.owned import StaffAdmin, has_more_privileges, may_erase
from apps.panel.refusals import translate_reason
from apps.panel.templatetags.panel import age
from apps.profile.models import UserProfile
from apps.summaries.models import SessionSummary


def count_per(rows: QuerySet[Any], *, by: str = "user") -> Coalesce:
    """An expression: how many of the rows there are that a condition of theirs, on the field `by`, ties to the outer
    row.
    """
    return Coalesce(Subquery(rows.order_by().values(by).annotate(n=Count("*")).values("n")), 0)


def shorten_name(name: str) -> SafeString:
    """The name on one line, as far as there is room for it; whole where the pointer rests on it."""
    return format_html('<bdi class="account-name" title="{}">{}</bdi>', name, name)


@dataclass(frozen=True, slots=True)
class UserLink:
    """One list of a person's, with the number of rows."""

    title: str
    link: str
    count: int


@dataclass(frozen=True, slots=True)
class UserLinks:
    """All of a person's lists, and the pages about them: title, address, symbol."""

    lists: list[UserLink]
    pages: list[tuple[str, str, str]]


def list_user_links(user: User, tables: Sequence[type[Model]], *, erases: bool) -> UserLinks:
    """Where everything of `user` is, as staff get there. `erases`: whether they may erase it."""
    kept = (ApiToken, ConnectedApp)
    counts = count_rows(user) | {table._meta.db_table: table.objects.filter(user=user).count() for table in kept}
    pages = [
        (_("Overview"), link_page("index", user=user), "dashboard"),
        (_("Review queue"), link_page("review", user=user), "inbox"),
        (_("Settings"), link_page("settings", user=user), "tune"),
        (_("Create token"), link_page("accounts_apitoken_add", user=user), "key"),
    ]
    if erases:
        pages.append((_("Erase all data"), link_page("erasure", user=user), "delete_forever"))
    return UserLinks(
        lists=[
            UserLink(
                title=str(table._meta.verbose_name_plural),
                link=link_list(table, user=user),
                count=counts[table._meta.db_table],
            )
            for table in tables
        ],
        pages=pages,
    )


admin.site.unregister(Group)

# The tables whose lists a person's page leads to.
LISTS = (
    LongTermMemory, AtomicMemory, UserProfile, SessionSummary, WorkingMemory, SharedContext, Session, Message, Change,
    Work, ApiToken, ConnectedApp,
)  # fmt: skip

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
    """For staff, as far as Django's permissions go; who is no superuser changes no powers, and nobody with more."""

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
        users: QuerySet[User] = super().get_queryset(request)
        active = {"user": OuterRef("pk"), "status": Status.ACTIVE}
        return users.annotate(
            remembered=count_per(LongTermMemory.objects.filter(**active))
            + count_per(AtomicMemory.objects.filter(**active)),
            seen=Subquery(
                Session.objects.filter(user=OuterRef("pk")).order_by("-last_active_at").values("last_active_at")[:1]
            ),
            served=count_per(User.objects.filter(service=OuterRef("pk")), by="service"),
        )

    @admin.display(description=gettext_lazy("username"), ordering="username")
    def shown_username(self, user: User) -> SafeString:
        return shorten_name(user.username)

    @admin.display(description=gettext_lazy("account"), ordering="is_active")
    def standing(self, user: User) -> SafeString:
        if not user.is_active:
            return format_html('<span class="chip chip--red">{}</span>', _("deactivated"))
        if user.is_superuser:
            return format_html('<span class="chip chip--violet">{}</span>', _("superuser"))
        if user.is_staff:
            return format_html('<span class="chip chip--blue">{}</span>', _("staff"))
        if user.service_id:
            return format_html('<span class="chip">{}</span>', _("end user"))
        return format_html('<span class="chip chip--teal">{}</span>', _("active"))

    @admin.display(description=gettext_lazy("memories"), ordering="remembered")
    def memories(self, user: Any) -> SafeString:
        return format_html('<a href="{}">{}</a>', link_list(LongTermMemory, user=user), user.remembered)

    @admin.display(description=gettext_lazy("last active"), ordering="seen")
    def last_active(self, user: Any) -> SafeString | str:
        return age(user.seen)

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

    @admin.display(description=gettext_lazy("password"))
    def password_state(self, user: User) -> str:
        return str(_("Set") if user.has_usable_password() else _("No password"))

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
        """Activate or deactivate an account; tell why not, where that is refused."""
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
        """Without deleting a selection: of each person the name is asked for."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.active_view)
        two_factor = self.admin_site.admin_view(self.two_factor_view)
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
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
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
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
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
            **self.admin_site.each_context(request),
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
            context |= {**show_data_counts(count_rows(user)), "refused": refused}
        return TemplateResponse(request, "panel/accounts/delete.html", context, status=status)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        user = self.get_object(request, object_id)
        user_links = None
        if user and self.has_view_permission(request, user):
            user_links = list_user_links(user, LISTS, erases=may_erase(request, user))
        context = {
            **(extra_context or {}),
            "user_links": user_links,
            "person": user,
            "may_deactivate": user and user.pk != request.user.pk and self.has_change_permission(request, user),
            "may_remove_two_factor": bool(user and request.user.is_superuser and find_two_factor(user)),
            "may_delete": user and self.has_delete_permission(request, user),
            "show_delete": False,
        }
        page: HttpResponse = super().change_view(request, object_id, form_url, context)
        return page
