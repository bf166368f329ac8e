"""A collector of traces on loopback: keeps what is sent to it by OTLP over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class Received:
    """A span as it arrived. IDs are hexadecimal; `links`: the spans it is linked to."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    links: tuple[str, ...]


@dataclass
class Receiver:
    """The spans that arrived so far, and all bytes that came."""

    url: str = ""
    spans: list[Received] = field(default_factory=list)
    raw: bytes = b""

    def find(self, name: str) -> Received | None:
        """Return the first span of this name."""
        return next((span for span in list(self.spans) if span.name == name), None)


@contextmanager
def run_receiver() -> Iterator[Receiver]:
    """Run the collector in a thread."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.raw += body
            receiver.spans += _read(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def _read(body: bytes) -> Iterator[Received]:
    request = ExportTraceServiceRequest.FromString(body)
    for resource in request.resource_spans:
        names = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    service=names.get("service.name", ""),
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    attributes={pair.key: _value(pair.value) for pair in span.attributes},
                    links=tuple(link.span_id.hex() for link in span.links),
                )


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))
