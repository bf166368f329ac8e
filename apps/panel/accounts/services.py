"""Services: what each holds, for which of its end users (T4). For the service itself, and for staff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import DateTimeField, Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiToken, EndUser, User
from apps.conversations.models import Message, Session
from apps.memory.models import Status
from apps.panel.accounts.users import annotate_use, count_per, shorten_name, sum_memories
from apps.panel.links import link_list, link_page
from apps.panel.owned import OwnerFilter, PartAdmin, column, may_erase, sees_everybody
from apps.panel.templatetags.panel import age, chip

# How many services have their figures above the list, those with most end users first; the list has all.
SERVICES = 20


class ServiceFilter(OwnerFilter):
    """Narrows the list to one service."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = _("service")


@admin.register(EndUser)
class EndUserAdmin(PartAdmin):
    """The end users of a service, and how much is held of each. Their data is erased; they go with their service."""

    owner = "service"
    list_before_template = "panel/accounts/services.html"
    change_form_outer_before_template = "panel/accounts/end_user.html"
    list_display = ("called", "service", "memories", "messages", "last_active", "since", "standing", "erasure")
    list_select_related = ("service",)
    search_fields = ("external_id", "username")
    search_help_text = _("Search external IDs")
    ordering = ("-id",)
    fields = readonly_fields = (
        "called", "service", "standing", "memories", "messages", "last_active", "since",
    )  # fmt: skip

    class Media:
        css = {"all": ("panel/accounts.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[EndUser]:
        rows = annotate_use(super().get_queryset(request).filter(service__isnull=False))
        found: QuerySet[EndUser] = rows.annotate(said=count_per(Message.objects.filter(user=OuterRef("pk"))))
        return found

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        shown = super().get_list_display(request)
        may = not sees_everybody(request) or request.user.has_perm("accounts.delete_user")
        return shown if may else tuple(name for name in shown if name != "erasure")

    def get_list_filter(self, request: HttpRequest) -> tuple[Any, ...]:
        return ((self.owner, ServiceFilter),) if sees_everybody(request) else ()

    called = column(_("external ID"), lambda user: shorten_name(user.external_id), ordering="external_id")
    memories = column(_("memories"), lambda user: int(user.remembered))
    messages = column(_("messages"), lambda user: int(user.said))
    last_active = column(_("last active"), lambda user: age(user.seen))
    since = column(_("created at"), lambda user: age(user.date_joined), ordering="date_joined")

    @admin.display(description=_("account"), ordering="is_active")
    def standing(self, user: EndUser) -> SafeString:
        tone, word = ("teal", _("active")) if user.is_active else ("red", _("deactivated"))
        return chip(word, tone)

    @admin.display(description=_("data"))
    def erasure(self, user: EndUser) -> SafeString:
        return format_html('<a class="row-link" href="{}">{}</a>', link_page("erasure", user=user), _("Erase…"))

    def describe_list(self, request: HttpRequest, rows: Sequence[EndUser]) -> dict[str, Any]:
        return {
            "title": _("Services"),
            "services": list_services(request),
            "may_make_services": may_make_service_tokens(request),
        }

    def describe_form(self, request: HttpRequest, row: EndUser) -> dict[str, Any]:
        return {"links": list_links(request, row)}


def list_links(request: HttpRequest, user: User) -> list[tuple[str, str, str]]:
    """The pages about an end user: title, address, symbol. Their account is for staff."""
    links = []
    if may_erase(request, user):
        links = [
            (str(_("Export all data")), link_page("erasure_export", user=user), "download"),
            (str(_("Erase all data")), link_page("erasure", user=user), "delete_forever"),
        ]
    account = (str(_("Account")), reverse("admin:accounts_user_change", args=[user.pk]), "person")
    if not sees_everybody(request):
        return links
    deleting = (str(_("Delete person…")), reverse("admin:accounts_user_delete", args=[user.pk]), "person_remove")
    may_delete = admin.site.get_model_admin(User).has_delete_permission(request, user)
    return [account, *links, deleting] if may_delete else [account, *links]


def list_services(request: HttpRequest) -> list[dict[str, Any]]:
    """What each service holds that who asks may see, in one query; those with most end users first.

    ``{name, link, end_users, memories, messages, tokens, seen}``
    """
    services = User.objects.filter(_is_service()) if sees_everybody(request) else _own_service(request)
    served = {"user__service": OuterRef("pk")}
    seen = Session.objects.filter(**served).order_by().values("user__service").annotate(seen=Max("last_active_at"))
    found = services.annotate(
        people=count_per(User.objects.filter(service=OuterRef("pk")), by="service"),
        remembered=sum_memories(by="user__service", **served, status=Status.ACTIVE),
        said=count_per(Message.objects.filter(**served), by="user__service"),
        tokens=count_per(ApiToken.objects.filter(user=OuterRef("pk"), is_service=True)),
        seen=Subquery(seen.values("seen"), DateTimeField()),
    ).order_by("-people", "username")
    return [
        {
            "name": service.username,
            "link": link_list(EndUser, service__id__exact=service.pk) if sees_everybody(request) else "",
            "end_users": service.people,
            "memories": service.remembered,
            "messages": service.said,
            "tokens": service.tokens,
            "seen": service.seen,
        }
        for service in found[:SERVICES]
    ]


def _is_service() -> Q:
    """The condition for accounts that have end users or a token to make some with."""
    return Q(Exists(User.objects.filter(service=OuterRef("pk")))) | Q(
        Exists(ApiToken.objects.filter(user=OuterRef("pk"), is_service=True))
    )


def sees_services(request: HttpRequest) -> bool:
    """Whether the page has something for who asks."""
    return sees_everybody(request) or _own_service(request).exists()


def may_make_service_tokens(request: HttpRequest, owner: User | None = None) -> bool:
    """Whether who asks may make tokens that make accounts: with the permission to make tokens for others, or as a
    service that there is already, for itself. `owner`: whose token it would be; without one, their own.
    """
    if request.user.has_perm("accounts.add_apitoken"):
        return True
    return owner in (None, request.user) and _own_service(request).exists()


def _own_service(request: HttpRequest) -> QuerySet[User]:
    return User.objects.filter(_is_service(), username=request.user.get_username())
