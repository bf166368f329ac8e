from __future__ import annotations

from django.urls import path

from apps.costs import api

urlpatterns = [path("costs", api.CostsView.as_view(), name="costs")]
