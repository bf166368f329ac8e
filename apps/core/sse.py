"""Server-sent events (HTML standard, section 9.2): encoding, and a response that proxies do not buffer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from django.http import StreamingHttpResponse
from rest_framework.utils.encoders import JSONEncoder

HEARTBEAT_SECONDS = 15.0


def encode_event(name: str, data: Any) -> bytes:
    """Return one event; `data` becomes one line of JSON, so it cannot break the framing."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, cls=JSONEncoder)}\n\n".encode()


def stream_events(events: AsyncIterator[tuple[str, Any]]) -> StreamingHttpResponse:
    """Return a response that sends ``(name, data)`` pairs as they come, with a comment line while nothing does."""
    return stream_frames(encode_event(name, data) async for name, data in events)


def encode_data(data: Any) -> bytes:
    """Return one event without a name, as OpenAI's streams have them."""
    return f"data: {json.dumps(data, ensure_ascii=False, cls=JSONEncoder)}\n\n".encode()


def stream_frames(frames: AsyncIterator[bytes]) -> StreamingHttpResponse:
    """Return a response that sends encoded events as they come, with a comment line while nothing does."""
    response = StreamingHttpResponse(_with_heartbeat(frames), content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


async def _with_heartbeat(frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    iterator = frames.__aiter__()
    upcoming: asyncio.Task[bytes] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(iterator))
            done, _ = await asyncio.wait([upcoming], timeout=HEARTBEAT_SECONDS)
            if not done:
                yield b": still here\n\n"
                continue
            try:
                frame = upcoming.result()
            except StopAsyncIteration:
                return
            upcoming = None
            yield frame
    finally:
        if upcoming is not None:
            upcoming.cancel()
