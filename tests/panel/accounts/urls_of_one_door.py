"""The project's addresses with one for agents and none for OpenAI's clients."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import path

from project.urls import urlpatterns as project

urlpatterns = [
    path("mcp", lambda request: HttpResponse()),
    *(pattern for pattern in project if "apps.doors" not in str(getattr(pattern, "urlconf_name", ""))),
]
