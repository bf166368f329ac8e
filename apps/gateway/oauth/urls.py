"""The names are those by which django-oauth-toolkit looks its addresses up."""

from __future__ import annotations

from django.urls import path
from django.views.generic import RedirectView

from apps.gateway.oauth import endpoints
from apps.gateway.oauth.addresses import MCP_PATH, RESOURCE_METADATA_PATH
from apps.gateway.oauth.consent import ConsentView

app_name = "oauth2_provider"
urlpatterns = [
    path(".well-known/oauth-authorization-server", endpoints.server_metadata, name="oauth-server-metadata"),
    path(RESOURCE_METADATA_PATH[1:], endpoints.resource_metadata, name="oauth-resource-metadata"),
    path(RESOURCE_METADATA_PATH[1:] + MCP_PATH, endpoints.resource_metadata, name="oauth-resource-metadata-mcp"),
    path("oauth/authorize", ConsentView.as_view(), name="authorize"),
    path("oauth/token", endpoints.token, name="token"),
    path("oauth/revoke", endpoints.revoke, name="revoke-token"),
    path("oauth/register", endpoints.register, name="dcr-register"),
    # Where clients look that have not read the metadata (MCP of 2025-03-26).
    path("authorize", RedirectView.as_view(pattern_name="oauth2_provider:authorize", query_string=True)),
    path("token", endpoints.token),
    path("register", endpoints.register),
]
