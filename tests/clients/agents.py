"""A model's server for coding agents, of Anthropic's Messages and OpenAI's Responses, that always says the same."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPLY = "孔雀蓝。"
USAGE = {"input_tokens": 10, "output_tokens": 5}


@dataclass
class AgentModel:
    """Where it listens, and the bodies that it was sent."""

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)


def list_message_events() -> Iterator[dict[str, Any]]:
    """A streamed answer of Anthropic's Messages."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "usage": USAGE}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": REPLY}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE}
    yield {"type": "message_stop"}


def list_response_events() -> Iterator[dict[str, Any]]:
    """A streamed answer of OpenAI's Responses."""
    said = {"type": "output_text", "text": REPLY, "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]}
    yield {"type": "response.created", "response": {"id": "resp_1"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = USAGE | {"total_tokens": 15, "input_tokens_details": None, "output_tokens_details": None}
    yield {"type": "response.completed", "response": {"id": "resp_1", "output": [item], "usage": usage}}


@contextmanager
def run_agent_model() -> Iterator[AgentModel]:
    """The server, on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer("application/json", b'{"data": [], "models": []}')

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            model.bodies.append(body)
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                return self.answer("application/json", b'{"input_tokens": 10}')
            events = list_response_events() if path.endswith("/responses") else list_message_events()
            lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            return self.answer("text/event-stream", "".join(lines).encode())

        def answer(self, kind: str, data: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model = AgentModel(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
