"""Tracing with OpenTelemetry: set up once for a process, by the variables that all programs with it have.

Imported only where it is configured. Everything that leaves the process passes `AllowedOnly`: attributes that are not
listed there, and the words of errors, do not.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from apps.core.tracing import Kind, Span, Tracer, Value, use_tracer

# Attributes that hold names, IDs, numbers. No statement, no address with its query, no key of a cache, no text.
ALLOWED = frozenset(
    {
        *("http.request.method", "http.response.status_code", "http.route", "error.type", "exception.type"),
        *("db.system", "db.system.name", "db.name", "db.namespace", "db.operation.name"),
        *("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.conversation.id"),
        *("gen_ai.request.max_tokens", "gen_ai.request.stream", "gen_ai.output.type"),
        *("jiyi.user.id", "jiyi.message.id", "jiyi.session.id", "jiyi.work.kind", "jiyi.work.count"),
        *("jiyi.prompt.estimated_tokens", "jiyi.answer.estimated_tokens", "jiyi.first_token_ms"),
        *("jiyi.memories.count", "jiyi.tool_calls.count"),
        *("celery.action", "celery.state", "celery.task_name", "messaging.message.id", "messaging.destination"),
    }
)

_KINDS: Mapping[Kind, SpanKind] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}


class AllowedOnly(SpanExporter):
    """Passes spans on with nothing but what is allowed."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([_leave_out(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _leave_out(span: ReadableSpan) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=_choose(span.attributes),
        events=[Event(event.name, _choose(event.attributes), event.timestamp) for event in span.events],
        links=[Link(link.context, _choose(link.attributes)) for link in span.links],
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _choose(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (attributes or {}).items() if name in ALLOWED}


class _Span(Span):
    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self.has_failed = False

    def set(self, **attributes: Value) -> None:
        self._span.set_attributes(_name(attributes))

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def fail(self, reason: str) -> None:
        self.has_failed = True
        self._span.set_attribute("error.type", reason)
        self._span.set_status(Status(StatusCode.ERROR))


class _Tracer(Tracer):
    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("jiyi")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(
        self, name: str, *, kind: Kind, parent: str | None, links: Collection[str], attributes: dict[str, Value]
    ) -> Iterator[_Span]:
        inside = None if parent is None else self._read(parent)
        linked = [trace.get_current_span(self._read(link)).get_span_context() for link in links if link]
        with self._tracer.start_as_current_span(
            name,
            context=inside,
            kind=_KINDS[kind],
            links=[Link(context) for context in linked if context.is_valid],
            attributes=_name(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as started:
            found = _Span(started)
            try:
                yield found
            except Exception as error:
                if not found.has_failed:
                    found.fail(type(error).__name__)
                raise

    def get_traceparent(self) -> str:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier.get("traceparent", "")

    def get_ids(self) -> tuple[str, str] | None:
        context = trace.get_current_span().get_span_context()
        if not context.is_valid:
            return None
        return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)

    def _read(self, traceparent: str) -> contexts.Context:
        return self._propagator.extract({"traceparent": traceparent}, context=contexts.Context())


def _name(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {name.replace("__", "."): value for name, value in attributes.items()}


_provider: TracerProvider | None = None


def start(part: str) -> None:
    """Trace this process from now on. `part`: of the installation, such as ``web``."""
    global _provider
    if _provider is not None:
        return
    name = os.environ.get("OTEL_SERVICE_NAME") or f"jiyi-{part}"
    _provider = TracerProvider(resource=Resource.create({"service.name": name}))
    _provider.add_span_processor(BatchSpanProcessor(AllowedOnly(OTLPSpanExporter())))
    trace.set_tracer_provider(_provider)
    propagate.set_global_textmap(TraceContextTextMapPropagator())
    PsycopgInstrumentor().instrument(tracer_provider=_provider)
    RedisInstrumentor().instrument(tracer_provider=_provider)
    if part == "worker":
        from opentelemetry.instrumentation.celery import CeleryInstrumentor

        CeleryInstrumentor().instrument(tracer_provider=_provider)  # type: ignore[no-untyped-call]
    use_tracer(_Tracer(_provider))


def stop() -> None:
    """Send what was not sent yet, as this process is about to end."""
    global _provider
    if _provider is not None:
        use_tracer(None)
        _provider.shutdown()
        _provider = None
