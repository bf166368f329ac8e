"""The project's addresses with one for OpenAI's clients."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("v1/chat/completions", lambda request: HttpResponse()),
    path("", include("project.urls")),
]
