from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.core.signals import request_started
from django.db import close_old_connections, reset_queries

from apps.core import tracing


class CoreConfig(AppConfig):
    name = "apps.core"
    verbose_name = "Core"

    def ready(self) -> None:
        # They tidy up after an earlier request of the same thread. Here each request that needs a thread has one of its
        # own, whose connection goes back to the pool with it; to call them, every request had to start one.
        request_started.disconnect(close_old_connections)
        request_started.disconnect(reset_queries)


@register(Tags.security, deploy=True)
def check_https(**_options: Any) -> list[CheckMessage]:
    """Return what is open without TLS, in one sentence instead of Django's one for each setting that follows from it.

    Django's own checks look for its middleware by name and so do not see ours, which are subclasses.
    """
    if not settings.HTTPS:
        return [
            Warning(
                "HTTPS is not true: cookies and tokens may travel unencrypted, and nothing leads browsers to https.",
                hint="Set HTTPS=true behind a proxy that ends TLS. On one machine, for yourself, leave it as it is.",
                id="core.W001",
            )
        ]
    if not settings.SECURE_HSTS_SECONDS:
        hint = "Remove HSTS_SECONDS=0 once https works for good."
        return [Warning("Browsers are not told to keep to https (HSTS).", hint=hint, id="core.W002")]
    return []


@register()
def check_tracing(**_options: Any) -> list[CheckMessage]:
    """Warn that nothing is traced, rather than not start: a cluster may set OpenTelemetry's variables for everybody."""
    if tracing.is_configured() and not tracing.is_installed():
        hint = "Run `.venv/bin/python -m pip install -r requirements/tracing.txt`, or set OTEL_SDK_DISABLED=true."
        return [
            Warning("A collector of traces is named, but OpenTelemetry is not installed.", hint=hint, id="core.W003")
        ]
    return []
