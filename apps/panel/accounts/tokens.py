"""API tokens in the panel: made by their owner, shown once with how to use them, revoked with a click (M7)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiToken, User
from apps.accounts.services.people import create_token
from apps.accounts.types import Scope
from apps.core.errors import InvalidInput
from apps.panel.accounts.end_users import may_make_service_tokens
from apps.panel.accounts.snippets import list_snippets
from apps.panel.links import link_page
from apps.panel.owned import ReadOnlyAdmin, choose_owner
from apps.panel.privileges import has_more_power
from apps.panel.refusals import add_refusal
from apps.panel.templatetags.ages import age


class TokenForm(forms.Form):
    """What a new token is for, what it may do, and how long it works."""

    LIFETIMES = (("", _("Never")), ("30", _("in 30 days")), ("90", _("in 90 days")), ("365", _("in a year")))
    KINDS = (
        ("personal", _("Personal: for one user’s own applications")),
        ("service", _("Service: for an application with many end users")),
    )
    SCOPES = (
        (Scope.ADMIN, _("Everything, including settings, export and erasure")),
        (Scope.WRITE, _("Read and write")),
        (Scope.READ, _("Read only")),
    )

    name = forms.CharField(
        label=_("Purpose"),
        max_length=100,
        widget=forms.TextInput(attrs={"class": "token-entry", "autocomplete": "off", "autofocus": True}),
    )
    kind = forms.ChoiceField(label=_("Kind"), choices=KINDS, initial="personal", widget=forms.RadioSelect)
    scope = forms.ChoiceField(
        label=_("May do"),
        choices=SCOPES,
        initial=Scope.ADMIN,
        widget=forms.Select(attrs={"class": "token-entry"}),
    )
    days = forms.ChoiceField(
        label=_("Expires"),
        choices=LIFETIMES,
        required=False,
        widget=forms.Select(attrs={"class": "token-entry"}),
    )
    throttle = forms.CharField(
        label=_("Request limit"),
        required=False,
        help_text=_("Requests per sec, min, hour or day, such as 60/min. Empty: no limit."),
        widget=forms.TextInput(attrs={"class": "token-entry", "autocomplete": "off", "placeholder": "60/min"}),
    )
    jwt_secret = forms.CharField(
        label=_("JWT secret (optional)"),
        required=False,
        strip=False,
        help_text=_("FORWARD_USER_INFO_HEADER_JWT_SECRET of Open WebUI, at least 32 characters. Stored encrypted."),
        widget=forms.PasswordInput(attrs={"class": "token-entry", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, may_make_services: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_make_services:
            del self.fields["kind"], self.fields["jwt_secret"]

    def create(self, owner: User) -> str | None:
        """Create a token and return it; None, with the reasons in the form, where it is refused."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        is_service = given.get("kind") == "service"
        try:
            return create_token(
                user=owner,
                name=given["name"],
                expiry=timedelta(days=int(given["days"])) if given["days"] else None,
                is_service=is_service,
                scopes=[given["scope"]],
                throttle=given["throttle"],
                jwt_secret=given["jwt_secret"] if is_service else "",
            )
        except InvalidInput as error:
            fields = {{"is_service": "kind"}.get(name, name): reasons for name, reasons in error.fields.items()}
            add_refusal(self, InvalidInput(error.message, fields=fields))
            return None


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Everybody makes and revokes their own; staff see all, revoke all, and make them for others with permission."""

    list_display = ("shown_name", "user", "kind", "shown_scopes", "used", "state", "made", "revoke")
    list_select_related = ("user",)
    list_filter = ("is_service",)
    search_fields = ("name", "user__username")
    fields = readonly_fields = (
        "shown_name", "user", "kind", "shown_scopes", "throttled", "verifies", "shown_key", "made", "used", "state",
    )  # fmt: skip
    ordering = ("-created",)
    delete_confirmation_template = "panel/accounts/revoke.html"
    delete_selected_confirmation_template = "panel/accounts/revoke.html"

    class Media:
        css = {"all": ("panel/accounts.css",)}

    @admin.display(description=_("name"), ordering="name")
    def shown_name(self, token: ApiToken) -> str:
        return token.name or str(_("(without a name)"))

    @admin.display(description=_("kind"), ordering="is_service")
    def kind(self, token: ApiToken) -> SafeString:
        tone, word = ("violet", _("service token")) if token.is_service else ("grey", _("personal token"))
        return format_html('<span class="chip chip--{}">{}</span>', tone, word)

    @admin.display(description=_("scopes"))
    def shown_scopes(self, token: ApiToken) -> SafeString:
        return format_html_join(" ", "<code>{}</code>", ((scope,) for scope in token.scopes))

    @admin.display(description=_("request limit"))
    def throttled(self, token: ApiToken) -> str:
        return token.throttle or str(_("none"))

    @admin.display(description=_("JWT secret"))
    def verifies(self, token: ApiToken) -> str:
        return str(_("set") if token.encrypted_jwt_secret else _("none"))

    @admin.display(description=_("last used"), ordering="last_used_at")
    def used(self, token: ApiToken) -> SafeString | str:
        return age(token.last_used_at) if token.last_used_at else str(_("never"))

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

    @admin.display(description=_("access"))
    def revoke(self, token: ApiToken) -> SafeString:
        address = reverse("admin:accounts_apitoken_delete", args=[token.pk])
        return format_html('<a class="row-link" href="{}">{}</a>', address, _("Revoke…"))

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        """Back to the list: Django leads who may change nothing to the overview."""
        self.message_user(request, _("The token was revoked."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:accounts_apitoken_changelist"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Make a token and show it, this once; it is stored as a digest only."""
        owner = self._find_owner(request)
        services = may_make_service_tokens(request, owner)
        initial = {"kind": "service"} if request.GET.get("kind") == "service" else {}
        form = TokenForm(request.POST or None, may_make_services=services, initial=initial)
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": _("Create token"),
            "opts": self.opts,
            "owner": owner,
            "mine": owner == request.user,
            "form": form,
            "address": link_page("accounts_apitoken_add", user=None if owner == request.user else owner),
        }
        token = form.create(owner) if request.method == "POST" else None
        if token:
            is_service = form.cleaned_data.get("kind") == "service"
            server = request.build_absolute_uri("/")[:-1]
            snippets = list(list_snippets(server=server, token=token, is_service=is_service))
            context |= {"token": token, "is_service": is_service, "snippets": snippets}
        status = 400 if form.is_bound and not token else 200
        return TemplateResponse(request, "panel/accounts/new_token.html", context, status=status)

    def _find_owner(self, request: HttpRequest) -> User:
        """Whose token it will be. With somebody's token one is them, so staff need the permission to make one."""
        owner = choose_owner(request)
        if owner != request.user and not request.user.has_perm("accounts.add_apitoken"):
            raise PermissionDenied
        if has_more_power(owner, request):
            raise PermissionDenied
        return owner
