"""Connected apps in the panel: what has access by OAuth, since when and when used last; disconnected with a click."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_id_token_model,
    get_refresh_token_model,
)

from apps.doors.mcp.oauth.services import disconnect_apps, list_targets
from apps.doors.models import ConnectedApp
from apps.panel.owned import ReadOnlyAdmin
from apps.panel.templatetags.ages import age

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

    @admin.display(description=_("application"), ordering="application__name")
    def shown_name(self, connection: ConnectedApp) -> str:
        return str(connection.application)

    @admin.display(description=_("returns to"))
    def returns_to(self, connection: ConnectedApp) -> str:
        return ", ".join(list_targets(connection))

    @admin.display(description=_("access"))
    def access(self, connection: ConnectedApp) -> SafeString:
        if "write" in connection.scopes:
            return format_html('<span class="chip chip--amber">{}</span>', _("Read and change"))
        return format_html('<span class="chip chip--teal">{}</span>', _("Read only"))

    @admin.display(description=_("connected"), ordering="created_at")
    def since(self, connection: ConnectedApp) -> SafeString | str:
        return age(connection.created_at)

    @admin.display(description=_("last use"), ordering="last_used_at")
    def last_use(self, connection: ConnectedApp) -> SafeString | str:
        return age(connection.last_used_at)

    def delete_model(self, request: HttpRequest, obj: ConnectedApp) -> None:
        """Disconnect it: its tokens and codes count no more."""
        disconnect_apps(ConnectedApp.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Disconnect several."""
        disconnect_apps(queryset)
