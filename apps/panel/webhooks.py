"""Webhooks and their deliveries: everybody adds their own, staff add them for services and for everybody."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from apps.accounts.models import Space, User
from apps.panel.owned import OwnedAdmin, column, sees_everybody
from apps.panel.pages import show_page
from apps.panel.spaces import SpaceField, list_choices
from apps.panel.templatetags.panel import age, chip, space_chip
from apps.webhooks.models import Delivery, Event, Webhook
from apps.webhooks.sending import PRIVATE, read_secret
from apps.webhooks.services import (
    are_on,
    delete_webhook,
    list_deliveries,
    rotate_secret,
    save_webhook,
    send_test,
    succeeded,
)

DELIVERIES_SHOWN = 20


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"), choices=Event.choices, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )
    space = SpaceField(
        Space.objects.none(),
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy("With a space, it receives only events of what is in that space."),
    )


@admin.register(Webhook)
class WebhookAdmin(OwnedAdmin):
    """Everybody's own; staff see and make all. There is no such page where webhooks are off."""

    form = WebhookForm
    list_display = ("url", "user", "shown_events", "shown_space", "enabled", "state")
    empty_value_display = gettext_lazy("everybody")
    list_select_related = ("user", "space")
    search_fields = ("url", "user__username")
    autocomplete_fields = ("user",)
    fields = ("user", "url", "events", "space", "enabled")
    acts = ("test", "rotate_secret")
    change_form_outer_after_template = "panel/webhooks/deliveries.html"

    class Media:
        css = {"all": ("panel/accounts.css",)}

    shown_events = column(gettext_lazy("events"), lambda webhook: ", ".join(webhook.events))
    shown_space = column(gettext_lazy("space"), lambda webhook: space_chip(webhook.space) or "–")

    @admin.display(description=gettext_lazy("status"))
    def state(self, webhook: Webhook) -> SafeString:
        if webhook.failing_since:
            return chip(_("failing: %(reason)s") % {"reason": tell_result(webhook.last_result)}, "red")
        return chip(_("works"), "teal") if webhook.last_result else chip(_("not used yet"), "grey")

    def _may(self, request: HttpRequest, obj: Any) -> bool:
        return are_on() and super()._may(request, obj)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **given: Any) -> Any:
        form = super().get_form(request, obj, change, **given)
        owner, space = obj.user if obj else cast(User, request.user), form.base_fields["space"]
        space.empty_label = _("everything")
        if owner:
            space.queryset = list_choices(owner)
        return form

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        if not change and not sees_everybody(request):
            obj.user_id = request.user.pk
        save_webhook(obj)

    def response_add(self, request: HttpRequest, obj: Webhook, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_secret(request, obj, title=_("Webhook added"))

    def _show_secret(self, request: HttpRequest, webhook: Webhook, *, title: str) -> HttpResponse:
        """Show the secret, this once."""
        told = {"title": title, "opts": self.opts, "webhook": webhook, "secret": read_secret(webhook)}
        return show_page(request, "panel/webhooks/made.html", **told)

    def describe_form(self, request: HttpRequest, row: Webhook) -> dict[str, Any]:
        deliveries = list_deliveries(row)[:DELIVERIES_SHOWN]
        return {
            "deliveries": {
                "headers": [_("event"), _("created at"), _("attempts"), _("result")],
                "rows": [[one.event, age(one.created_at), one.attempts, show_result(one)] for one in deliveries],
            }
        }

    def delete_model(self, request: HttpRequest, obj: Webhook) -> None:
        delete_webhook(obj)

    def rotate_secret(self, request: HttpRequest, webhook: Webhook) -> HttpResponse:
        """POST: replace the secret, and show the new one."""
        rotate_secret(webhook)
        return self._show_secret(request, webhook, title=_("Secret replaced"))

    def test(self, request: HttpRequest, webhook: Webhook) -> HttpResponse:
        """POST: send a test event, and show its result."""
        result = send_test(webhook, now=timezone.now()).result
        if succeeded(result):
            messages.success(request, _("The test event arrived: %(result)s.") % {"result": tell_result(result)})
        else:
            messages.error(request, _("The test event did not arrive: %(result)s.") % {"result": tell_result(result)})
        return redirect("admin:webhooks_webhook_change", webhook.pk)


def show_result(delivery: Delivery) -> SafeString:
    """Return a chip: the result of a delivery, and whether it is sent again."""
    result = tell_result(delivery.result)
    if delivery.due_at is None:
        return chip(result, "teal" if delivery.delivered_at else "red")
    return chip(_("%(result)s, will be retried") % {"result": result} if result else _("waiting"), "amber")


def tell_result(result: str) -> str:
    """Return the result of a delivery in words."""
    words = {
        PRIVATE: _("a private address"),
        "TimeoutError": _("no answer in 10 seconds"),
        "ConnectError": _("not reachable"),
        "gaierror": _("no such host"),
        "UnreadableSecret": _("the secret cannot be read; add the webhook again"),
    }
    return f"HTTP {result}" if result.isdecimal() else str(words.get(result, result))
