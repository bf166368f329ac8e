from __future__ import annotations

from django.urls import include, path
from django.views.generic import RedirectView

from apps.doors.imports import api as imports
from apps.doors.mcp import oauth_views as oauth
from apps.doors.mcp.http import McpView
from apps.doors.mcp.oauth import MCP_PATH, RESOURCE_METADATA_PATH
from apps.doors.openai import api as openai
from apps.doors.openai.responses_view import ResponsesView, ResponseView

# The names are those by which django-oauth-toolkit looks its addresses up.
oauth_patterns = [
    path(".well-known/oauth-authorization-server", oauth.server_metadata, name="oauth-server-metadata"),
    path(RESOURCE_METADATA_PATH[1:], oauth.resource_metadata, name="oauth-resource-metadata"),
    path(RESOURCE_METADATA_PATH[1:] + MCP_PATH, oauth.resource_metadata, name="oauth-resource-metadata-mcp"),
    path("oauth/authorize", oauth.ConsentView.as_view(), name="authorize"),
    path("oauth/token", oauth.token, name="token"),
    path("oauth/revoke", oauth.revoke, name="revoke-token"),
    path("oauth/register", oauth.register, name="dcr-register"),
    # Where clients look that have not read the metadata (MCP of 2025-03-26).
    path("authorize", RedirectView.as_view(pattern_name="oauth2_provider:authorize", query_string=True)),
    path("token", oauth.token),
    path("register", oauth.register),
]

urlpatterns = [
    path("v1/chat/completions", openai.ChatCompletionsView.as_view(), name="openai-chat-completions"),
    path("v1/embeddings", openai.EmbeddingsView.as_view(), name="openai-embeddings"),
    path("v1/responses", ResponsesView.as_view(), name="openai-responses"),
    path("v1/responses/<str:response_id>", ResponseView.as_view(), name="openai-response"),
    path("v1/models", openai.ModelsView.as_view(), name="openai-models"),
    path("v1/models/<path:model>", openai.ModelView.as_view(), name="openai-model"),
    path("memory/imports", imports.ImportsView.as_view(), name="imports"),
    path("memory/imports/<str:import_id>", imports.ImportView.as_view(), name="import"),
    path("memory/imports/<str:import_id>/items", imports.ImportItemsView.as_view(), name="import-items"),
    path("memory/imports/<str:import_id>/undo", imports.ImportUndoView.as_view(), name="import-undo"),
    path("mcp", McpView.as_view(), name="mcp"),
    path("mcp/", McpView.as_view(), name="mcp"),
    path("", include((oauth_patterns, "oauth2_provider"))),
]
