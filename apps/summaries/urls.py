from __future__ import annotations

from django.urls import path

from apps.summaries import api

urlpatterns = [
    path("summaries", api.SummariesView.as_view(), name="summaries"),
    path("summaries/<str:summary_id>", api.SummaryView.as_view(), name="summary"),
]
