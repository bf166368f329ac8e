from __future__ import annotations

from django.urls import path

from apps.accounts import api

urlpatterns = [
    path("memory/settings", api.SettingsView.as_view(), name="settings"),
    path("memory/export", api.ExportView.as_view(), name="export"),
    path("memory/erase", api.EraseView.as_view(), name="erase"),
]
