from __future__ import annotations

from django.urls import path

from apps.tidying import api

urlpatterns = [
    path("tidyings", api.TidyingsView.as_view(), name="tidyings"),
    path("tidyings/<str:run_id>", api.TidyingView.as_view(), name="tidying"),
    path("tidyings/<str:run_id>/seen", api.TidyingSeenView.as_view(), name="tidying_seen"),
    path("tidyings/<str:run_id>/undo", api.UndoTidyingView.as_view(), name="tidying_undo"),
]
