from __future__ import annotations

from django.urls import path

from apps.webhooks import api

urlpatterns = [
    path("webhooks", api.WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<str:webhook_id>", api.WebhookView.as_view(), name="webhook"),
    path("webhooks/<str:webhook_id>/rotate-secret", api.RotateSecretView.as_view(), name="webhook_rotate_secret"),
    path("webhooks/<str:webhook_id>/test", api.TestView.as_view(), name="webhook_test"),
    path("webhooks/<str:webhook_id>/deliveries", api.DeliveriesView.as_view(), name="webhook_deliveries"),
]
