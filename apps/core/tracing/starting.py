"""Whether this installation is traced, and starting that in a process."""

from __future__ import annotations

import os

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def is_configured() -> bool:
    """Whether a collector is named and the SDK not disabled, by OpenTelemetry's own variables."""
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not disabled and any(os.environ.get(name, "").strip() for name in ENDPOINTS)


def start_tracing(part: str) -> None:
    """Trace this process from now on, where that is configured. `part`: ``web`` or ``worker``."""
    if is_configured():
        from apps.core.tracing import exporting

        exporting.start(part)


def stop_tracing() -> None:
    """Send what was not sent yet, as this process is about to end."""
    if is_configured():
        from apps.core.tracing import exporting

        exporting.stop()
