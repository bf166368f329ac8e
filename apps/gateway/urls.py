from __future__ import annotations

from django.urls import include, path

from apps.gateway.imports import api as imports
from apps.gateway.mcp.http import McpView
from apps.gateway.openai import api as openai
from apps.gateway.openai.responses_view import ResponsesView, ResponseView

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
    path("", include("apps.gateway.oauth.urls")),
]
