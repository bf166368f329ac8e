"""API tokens in the panel: made by their owner, shown once with how to use them, revoked with a click (M7)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiToken, User
from apps.accounts.services import create_token
from apps.panel.accounts.powers import has_more_power
from apps.panel.links import link_page
from apps.panel.owned import ReadOnlyAdmin, choose_owner
from apps.panel.templatetags.ages import age

OPENAI_DOOR = "/v1/chat/completions"


class TokenForm(forms.Form):
    """What a new token is for, and how long it works."""

    LIFETIMES = (("", _("Never")), ("30", _("in 30 days")), ("90", _("in 90 days")), ("365", _("in a year")))

    name = forms.CharField(
        label=_("Purpose"),
        max_length=100,
        widget=forms.TextInput(attrs={"class": "token-entry", "autocomplete": "off", "autofocus": True}),
    )
    days = forms.ChoiceField(
        label=_("Expires"),
        choices=LIFETIMES,
        required=False,
        widget=forms.Select(attrs={"class": "token-entry"}),
    )

    @property
    def expiry(self) -> timedelta | None:
        days = self.cleaned_data["days"]
        return timedelta(days=int(days)) if days else None


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Everybody makes and revokes their own; staff see all, revoke all, and make them for others with permission."""

    list_display = ("shown_name", "user", "shown_key", "made", "state")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    fields = readonly_fields = ("shown_name", "user", "shown_key", "made", "state")
    ordering = ("-created",)

    class Media:
        css = {"all": ("panel/accounts.css",)}

    @admin.display(description=_("name"), ordering="name")
    def shown_name(self, token: ApiToken) -> str:
        return token.name or str(_("(without a name)"))

    @admin.display(description=_("prefix"), ordering="token_key")
    def shown_key(self, token: ApiToken) -> SafeString:
        return format_html("<code>{}…</code>", token.token_key)

    @admin.display(description=_("created at"), ordering="created")
    def made(self, token: ApiToken) -> SafeString | str:
        return age(token.created)

    @admin.display(description=_("expires"), ordering="expiry")
    def state(self, token: ApiToken) -> SafeString:
        if token.expiry is None:
            return format_html('<span class="chip chip--teal">{}</span>', _("Never"))
        if token.expiry <= timezone.now():
            return format_html('<span class="chip chip--red">{}</span>', _("expired"))
        day = timezone.localtime(token.expiry).date().isoformat()
        return format_html('<span class="chip chip--amber">{}</span>', _("on %(day)s") % {"day": day})

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Make a token and show it, this once; it is stored as a digest only."""
        owner = self._find_owner(request)
        form = TokenForm(request.POST or None)
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": _("Create token"),
            "opts": self.opts,
            "owner": owner,
            "mine": owner == request.user,
            "form": form,
            "address": link_page("accounts_apitoken_add", user=None if owner == request.user else owner),
        }
        if request.method == "POST" and form.is_valid():
            token = create_token(user=owner, name=form.cleaned_data["name"], expiry=form.expiry)
            context |= {"token": token, "server": request.build_absolute_uri("/")[:-1], "has_openai": _serves_openai()}
        status = 400 if form.is_bound and not form.is_valid() else 200
        return TemplateResponse(request, "panel/accounts/new_token.html", context, status=status)

    def _find_owner(self, request: HttpRequest) -> User:
        """Whose token it will be. With somebody's token one is them, so staff need the permission to make one."""
        owner = choose_owner(request)
        if owner != request.user and not request.user.has_perm("accounts.add_apitoken"):
            raise PermissionDenied
        if has_more_power(owner, request):
            raise PermissionDenied
        return owner


def _serves_openai() -> bool:
    """Whether this installation has the address that OpenAI's clients ask."""
    try:
        resolve(OPENAI_DOOR)
    except Resolver404:
        return False
    return True
