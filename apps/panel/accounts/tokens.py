"""API tokens and connected apps: made by their owner, shown once, revoked with a click (M7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_id_token_model,
    get_refresh_token_model,
)

from apps.accounts.models import ApiToken, User
from apps.accounts.services.people import create_token
from apps.accounts.types import Scope
from apps.core.errors import InvalidInput
from apps.doors.mcp.oauth import disconnect_apps, list_targets
from apps.doors.models import ConnectedApp
from apps.panel.accounts.services import may_make_service_tokens
from apps.panel.links import link_page
from apps.panel.owned import ReadOnlyAdmin, choose_owner, column, has_more_privileges
from apps.panel.pages import show_page
from apps.panel.refusals import add_refusal
from apps.panel.spaces import SpaceField, list_choices
from apps.panel.templatetags.panel import age, chip, space_chip

# Whom the examples of a service name.
END_USER = "mei"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy, with a heading and a sentence. `id` is unique on the page."""

    id: str
    title: str
    note: str
    text: str


def list_snippets(*, server: str, token: str, is_service: bool) -> Iterator[Snippet]:
    """Yield what to copy for REST, OpenAI's clients, agents and Open WebUI. `server`: its address without a slash."""
    headers = {"Authorization": f"Bearer {token}"} | ({"X-End-User": END_USER} if is_service else {})
    lines = [f"curl {server}/memory/long-term", *(f'-H "{name}: {value}"' for name, value in headers.items())]
    yield Snippet("curl", "REST", _("From the command line:"), " \\\n  ".join(lines))
    note = _("With any OpenAI client, which then has a memory:")
    yield Snippet("openai", "OpenAI", note, _write_python(server, token, is_service=is_service))
    entry = {"type": "http", "url": f"{server}/mcp", "headers": headers}
    config = json.dumps({"mcpServers": {"jiyi": entry}}, indent=2)
    yield Snippet("mcp", "MCP", _("In the configuration of an MCP client:"), config)
    if is_service:
        note = _("Add a connection with this base URL and key, and set the variable so that it names its users:")
        lines = [f"OPENAI_API_BASE_URL={server}/v1", f"OPENAI_API_KEY={token}", "ENABLE_FORWARD_USER_INFO_HEADERS=true"]
        yield Snippet("open-webui", "Open WebUI", note, "\n".join(lines))


def _write_python(server: str, token: str, *, is_service: bool) -> str:
    question = _("What do you know about me?")
    named = f'user="{END_USER}", ' if is_service else ""
    return "\n".join(
        [
            "from openai import OpenAI",
            "",
            f'client = OpenAI(base_url="{server}/v1", api_key="{token}")',
            "model = client.models.list().data[0].id",
            "reply = client.chat.completions.create(",
            f'    model=model, {named}messages=[{{"role": "user", "content": "{question}"}}]',
            ")",
            "print(reply.choices[0].message.content)",
        ]
    )


class TokenForm(forms.Form):
    """What a new token is for, what it may do, and how long it works."""

    LIFETIMES = (
        ("", gettext_lazy("Never")),
        ("30", gettext_lazy("in 30 days")),
        ("90", gettext_lazy("in 90 days")),
        ("365", gettext_lazy("in a year")),
    )
    KINDS = (
        ("personal", gettext_lazy("Personal: for one user’s own applications")),
        ("service", gettext_lazy("Service: for an application with many end users")),
    )
    SCOPES = (
        (Scope.ADMIN, gettext_lazy("Everything, including settings, export and erasure")),
        (Scope.WRITE, gettext_lazy("Read and write")),
        (Scope.READ, gettext_lazy("Read only")),
    )

    name = forms.CharField(
        label=gettext_lazy("Purpose"),
        max_length=100,
        widget=forms.TextInput(attrs={"class": "token-entry", "autocomplete": "off", "autofocus": True}),
    )
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=KINDS, initial="personal", widget=forms.RadioSelect)
    scope = forms.ChoiceField(
        label=gettext_lazy("May do"),
        choices=SCOPES,
        initial=Scope.ADMIN,
        widget=forms.Select(attrs={"class": "token-entry"}),
    )
    days = forms.ChoiceField(
        label=gettext_lazy("Expires"),
        choices=LIFETIMES,
        required=False,
        widget=forms.Select(attrs={"class": "token-entry"}),
    )
    throttle = forms.CharField(
        label=gettext_lazy("Request limit"),
        required=False,
        help_text=gettext_lazy("Requests per sec, min, hour or day, such as 60/min. Empty: no limit."),
        widget=forms.TextInput(attrs={"class": "token-entry", "autocomplete": "off", "placeholder": "60/min"}),
    )
    jwt_secret = forms.CharField(
        label=gettext_lazy("JWT secret (optional)"),
        required=False,
        strip=False,
        help_text=gettext_lazy(
            "FORWARD_USER_INFO_HEADER_JWT_SECRET of Open WebUI, at least 32 characters. Stored encrypted."
        ),
        widget=forms.PasswordInput(attrs={"class": "token-entry", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, owner: User, may_make_services: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if spaces := list_choices(owner):
            help_text = _("With a space, it sees what is there and what is everywhere, and changes only what is there.")
            entry = forms.Select(attrs={"class": "token-entry"})
            self.fields["space"] = SpaceField(spaces, help_text=help_text, widget=entry)
            self.order_fields(["name", "kind", "scope", "space"])
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
                space=given.get("space"),
                jwt_secret=given["jwt_secret"] if is_service else "",
            )
        except InvalidInput as error:
            fields = {{"is_service": "kind"}.get(name, name): reasons for name, reasons in error.fields.items()}
            add_refusal(self, InvalidInput(error.message, fields=fields))
            return None


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Everybody makes and revokes their own; staff see all, revoke all, and make them for others with permission."""

    never = ("change",)
    list_display = ("shown_name", "user", "kind", "shown_space", "shown_scopes", "used", "state", "made", "revoke")
    list_select_related = ("user", "space")
    list_filter = ("is_service",)
    search_fields = ("name", "user__username")
    fields = readonly_fields = (
        "shown_name", "user", "kind", "shown_space", "shown_scopes", "throttled", "verifies", "shown_key",
        "made", "used", "state",
    )  # fmt: skip
    ordering = ("-created",)
    delete_confirmation_template = "panel/accounts/revoke.html"
    delete_selected_confirmation_template = "panel/accounts/revoke.html"

    class Media:
        css = {"all": ("panel/accounts.css",)}

    shown_name = column(gettext_lazy("name"), lambda token: token.name or _("(without a name)"), ordering="name")

    @admin.display(description=gettext_lazy("kind"), ordering="is_service")
    def kind(self, token: ApiToken) -> SafeString:
        tone, word = ("violet", _("service token")) if token.is_service else ("grey", _("personal token"))
        return chip(word, tone)

    shown_space = column(gettext_lazy("space"), lambda token: space_chip(token.space) or "–")

    @admin.display(description=gettext_lazy("scopes"))
    def shown_scopes(self, token: ApiToken) -> SafeString:
        return format_html_join(" ", "<code>{}</code>", ((scope,) for scope in token.scopes))

    throttled = column(gettext_lazy("request limit"), lambda token: token.throttle or _("none"))
    verifies = column(
        gettext_lazy("JWT secret"), lambda token: str(_("set") if token.encrypted_jwt_secret else _("none"))
    )

    @admin.display(description=gettext_lazy("last used"), ordering="last_used_at")
    def used(self, token: ApiToken) -> SafeString | str:
        return age(token.last_used_at) if token.last_used_at else _("never")

    shown_key = column(
        gettext_lazy("prefix"), lambda token: format_html("<code>{}…</code>", token.token_key), ordering="token_key"
    )
    made = column(gettext_lazy("created at"), lambda token: age(token.created), ordering="created")

    @admin.display(description=gettext_lazy("expires"), ordering="expiry")
    def state(self, token: ApiToken) -> SafeString:
        if token.expiry is None:
            return chip(_("Never"), "teal")
        if token.expiry <= timezone.now():
            return chip(_("expired"), "red")
        day = timezone.localtime(token.expiry).date().isoformat()
        return chip(_("on %(day)s") % {"day": day}, "amber")

    @admin.display(description=gettext_lazy("access"))
    def revoke(self, token: ApiToken) -> SafeString:
        address = reverse("admin:accounts_apitoken_delete", args=[token.pk])
        return format_html('<a class="row-link" href="{}">{}</a>', address, _("Revoke…"))

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        """Back to the list: Django leads who may change nothing to the overview."""
        self.message_user(request, _("The token was revoked."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:accounts_apitoken_changelist"))

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Make a token and show it, this once; it is stored as a digest only."""
        owner = self._find_owner(request)
        services = may_make_service_tokens(request, owner)
        initial = {"kind": "service"} if request.GET.get("kind") == "service" else {}
        form = TokenForm(request.POST or None, owner=owner, may_make_services=services, initial=initial)
        context: dict[str, Any] = {
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
        return show_page(request, "panel/accounts/new_token.html", status=status, **context)

    def _find_owner(self, request: HttpRequest) -> User:
        """Whose token it will be. With somebody's token one is them, so staff need the permission to make one."""
        owner = choose_owner(request)
        if owner != request.user and not request.user.has_perm("accounts.add_apitoken"):
            raise PermissionDenied
        if has_more_privileges(owner, request):
            raise PermissionDenied
        return owner


for _model in (
    get_application_model(), get_access_token_model(), get_refresh_token_model(), get_grant_model(),
    get_id_token_model(),
    EmailAddress, SocialAccount, SocialApp, SocialToken, Authenticator,
):  # fmt: skip
    admin.site.unregister(_model)  # the libraries' own pages know no owners


@admin.register(ConnectedApp)
class ConnectedAppAdmin(ReadOnlyAdmin):
    """Everybody sees and disconnects their own; staff all. They come about on the page that asks for consent."""

    list_display = ("shown_name", "user", "returns_to", "access", "since", "last_use")
    list_select_related = ("user", "application")
    search_fields = ("application__name", "user__username")
    fields = readonly_fields = ("shown_name", "user", "returns_to", "access", "since", "last_use")
    ordering = ("-created_at",)

    class Media:
        css = {"all": ("panel/accounts.css",)}

    shown_name = column(
        gettext_lazy("application"), lambda connection: str(connection.application), ordering="application__name"
    )
    returns_to = column(gettext_lazy("returns to"), lambda connection: ", ".join(list_targets(connection)))

    @admin.display(description=gettext_lazy("access"))
    def access(self, connection: ConnectedApp) -> SafeString:
        if "write" in connection.scopes:
            return chip(_("Read and change"), "amber")
        return chip(_("Read only"), "teal")

    since = column(gettext_lazy("connected"), lambda connection: age(connection.created_at), ordering="created_at")
    last_use = column(
        gettext_lazy("last use"), lambda connection: age(connection.last_used_at), ordering="last_used_at"
    )

    def delete_model(self, request: HttpRequest, obj: ConnectedApp) -> None:
        """Disconnect it: its tokens and codes count no more."""
        disconnect_apps(ConnectedApp.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        disconnect_apps(queryset)
