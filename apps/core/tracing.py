"""Spans of what a turn and a job do, for OpenTelemetry, where it is configured; else nothing (docs/observability.md).

`span` costs next to nothing while tracing is off, and OpenTelemetry is not imported for it then. What a span may say is
listed in `apps.core.tracing_export`: IDs, names, numbers, never a text of anybody (R3).
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Literal, Self

Kind = Literal["internal", "server", "client", "producer", "consumer"]
Value = str | int | float | bool

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class Span:
    """What goes on, from its beginning to its end; this one, while tracing is off, keeps nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def set(self, **attributes: Value) -> None:
        """Say more of it; of a name, ``__`` stands for a dot: ``http__route``."""

    def rename(self, name: str) -> None:
        """Call it otherwise, now that more is known."""

    def fail(self, reason: str) -> None:
        """Say that it has failed: a name or a status code, never a text."""


class Tracer:
    """What `span` reports to; `apps.core.tracing_export` puts its own in place of this one, which does nothing."""

    def span(
        self, name: str, *, kind: Kind, parent: str | None, links: Collection[str], attributes: dict[str, Value]
    ) -> AbstractContextManager[Span]:
        return _NO_SPAN

    def get_traceparent(self) -> str:
        return ""

    def get_ids(self) -> tuple[str, str] | None:
        return None


_NO_SPAN = Span()
_OFF = Tracer()
_tracer = _OFF


def use_tracer(tracer: Tracer | None) -> None:
    """Have `span` report to this tracer; to none where it is None."""
    global _tracer
    _tracer = tracer or _OFF


def span(
    name: str,
    *,
    kind: Kind = "internal",
    parent: str | None = None,
    links: Collection[str] = (),
    **attributes: Value,
) -> AbstractContextManager[Span]:
    """Return a span that goes on while its block runs, in the span that goes on here.

    `parent`: the span it belongs to instead, as `get_traceparent` told it, "" for none; `links`: others that it has to
    do with. Of a name of `attributes`, ``__`` stands for a dot.
    """
    return _tracer.span(name, kind=kind, parent=parent, links=links, attributes=attributes)


def is_on() -> bool:
    """Whether this process is traced."""
    return _tracer is not _OFF


def get_traceparent() -> str:
    """Return the span that goes on here in the form of W3C's Trace Context, "" where none does."""
    return _tracer.get_traceparent()


def get_ids() -> tuple[str, str] | None:
    """Return the IDs of the trace and of the span that goes on here; None where none does."""
    return _tracer.get_ids()


def is_configured() -> bool:
    """Whether a collector is named and the SDK not disabled, by OpenTelemetry's own variables."""
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not disabled and any(os.environ.get(name, "").strip() for name in ENDPOINTS)


def is_installed() -> bool:
    """Whether requirements/tracing.txt is installed; the interface alone, which the MCP SDK needs, is always there."""
    return find_spec("opentelemetry.instrumentation") is not None


def start_tracing(part: str) -> None:
    """Trace this process from now on, where that is configured and installed. `part`: ``web`` or ``worker``."""
    if is_configured() and is_installed():
        from apps.core import tracing_export

        tracing_export.start(part)


def stop_tracing() -> None:
    """Send what was not sent yet, as this process is about to end."""
    if is_on():
        from apps.core import tracing_export

        tracing_export.stop()
