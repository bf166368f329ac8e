"""Failed logins in the panel: which accounts and addresses are locked out, and letting them in again (M7)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from apps.accounts.models import LoginAttempt
from apps.accounts.services.login_lockout import Lock, get_cool_off, unlock, with_limits
from apps.panel.owned import StaffAdmin, sees_everybody
from apps.panel.templatetags.ages import age


def _is_locked() -> Q:
    """Of rows `with_limits`: those at whose account and address no password is looked at."""
    return Q(attempt_time__gt=timezone.now() - get_cool_off()) & (
        Q(failures_since_start__gte=settings.LOGIN_FAILURE_LIMIT)
        | Q(of_account__gte=settings.LOGIN_FAILURE_LIMIT_ACCOUNT)
        | Q(of_address__gte=settings.LOGIN_FAILURE_LIMIT_ADDRESS)
    )


class LockedFilter(admin.SimpleListFilter):
    """Narrows the list to who is locked out."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("locked", _("Locked out"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(_is_locked()) if self.value() == "locked" else queryset


@admin.register(LoginAttempt)
class LoginAttemptAdmin(StaffAdmin):
    """For staff. Who may change accounts may unlock them, by forgetting the attempts."""

    list_display = ("username", "address", "failures", "last_attempt", "state", "let_in")
    list_display_links = None
    list_filter = (LockedFilter,)
    search_fields = ("username", "ip_address")
    fields = readonly_fields = ("username", "address", "failures", "last_attempt", "state")
    ordering = ("-attempt_time",)
    actions = ("unlock_selected",)
    delete_confirmation_template = "panel/accounts/unlock.html"

    class Media:
        css = {"all": ("panel/accounts.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[LoginAttempt]:
        return with_limits(super().get_queryset(request), now=timezone.now())

    @admin.display(description=_("IP address"), ordering="ip_address")
    def address(self, attempt: LoginAttempt) -> SafeString | str:
        if not attempt.ip_address:
            return "–"
        network = "/64" if ":" in attempt.ip_address else ""
        return format_html("<code>{}{}</code>", attempt.ip_address, network)

    @admin.display(description=_("failures"), ordering="failures_since_start")
    def failures(self, attempt: LoginAttempt) -> int:
        return int(attempt.failures_since_start)

    @admin.display(description=_("last attempt"), ordering="attempt_time")
    def last_attempt(self, attempt: LoginAttempt) -> SafeString | str:
        return age(attempt.attempt_time)

    @admin.display(description=_("state"))
    def state(self, attempt: Any) -> SafeString | str:
        now = timezone.now()
        lock = Lock(until=attempt.attempt_time + get_cool_off())
        if lock.until <= now:
            return format_html('<span class="chip">{}</span>', _("over"))
        reasons = (
            (attempt.failures_since_start, settings.LOGIN_FAILURE_LIMIT, _("Locked out")),
            (attempt.of_account, settings.LOGIN_FAILURE_LIMIT_ACCOUNT, _("Account locked out")),
            (attempt.of_address, settings.LOGIN_FAILURE_LIMIT_ADDRESS, _("Address locked out")),
        )
        for failures, limit, words in reasons:
            if failures >= limit:
                minutes = lock.minutes(now)
                time = ngettext("%(count)s more minute", "%(count)s more minutes", minutes) % {"count": minutes}
                return format_html('<span class="chip chip--red">{}</span> <span class="muted">{}</span>', words, time)
        return format_html('<span class="chip chip--amber">{}</span>', _("counted"))

    @admin.display(description=_("access"))
    def let_in(self, attempt: LoginAttempt) -> SafeString:
        address = reverse("admin:accounts_loginattempt_delete", args=[attempt.pk])
        return format_html('<a class="row-link" href="{}">{}</a>', address, _("Unlock…"))

    @admin.action(description=_("Unlock"), permissions=["delete"])
    def unlock_selected(self, request: HttpRequest, queryset: QuerySet[LoginAttempt]) -> None:
        count = unlock(LoginAttempt.objects.filter(pk__in=queryset.values("pk")))
        text = ngettext("%(count)s entry was unlocked.", "%(count)s entries were unlocked.", count)
        self.message_user(request, text % {"count": count}, messages.SUCCESS)

    def delete_model(self, request: HttpRequest, obj: LoginAttempt) -> None:
        unlock(LoginAttempt.objects.filter(pk=obj.pk))

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        self.message_user(request, _("The account can log in from this address again."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:accounts_loginattempt_changelist"))

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        shown = self.list_display
        return shown if self.has_delete_permission(request) else shown[:-1]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_everybody(request) and request.user.has_perm("accounts.change_user")
