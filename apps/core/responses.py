"""Responses that are sent in portions: server-sent events (HTML standard, section 9.2), and files."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.http import FileResponse, StreamingHttpResponse
from django.utils import timezone
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


JSON = "application/json"
MAX_NAME_CHARACTERS = 60

_BYTES_AT_ONCE = 256 * 1024
_FORBIDDEN = frozenset('<>:"/\\|?*')


class _Attachment(FileResponse):
    """A file that is sent in portions, whether the server asks for them in an event loop or not."""

    def __init__(self, file: IO[bytes], *, filename: str, content_type: str) -> None:
        super().__init__(file, as_attachment=True, filename=filename, content_type=content_type)
        self._file = file  # which middleware hides from the response, to log when it was sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while portion := await sync_to_async(self._file.read, thread_sensitive=False)(_BYTES_AT_ONCE):
            yield portion


def answer_file(
    portions: Iterable[bytes], *, name: str, content_type: str = JSON, suffix: str = "json"
) -> FileResponse:
    """Answer with a file made of these portions."""
    return answer_written(lambda file: file.writelines(portions), name=name, content_type=content_type, suffix=suffix)


def answer_written(
    write: Callable[[IO[bytes]], object], *, name: str, content_type: str = JSON, suffix: str = "json"
) -> FileResponse:
    """Answer with what `write` writes. Written out before it is sent: no connection waits for a slow client."""
    # Without a name: nothing of it stays, whatever happens. The response closes it.
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        write(file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    filename = f"jiyi-{make_safe_name(name)}-{timezone.now():%Y-%m-%d}.{suffix}"
    return _Attachment(file, filename=filename, content_type=content_type)


def make_safe_name(text: str) -> str:
    """Return a text as a part of a file's name that every system takes: one line, without marks that mean something."""
    kept = "".join(" " if char in _FORBIDDEN or not char.isprintable() else char for char in text)
    return " ".join(kept.split())[:MAX_NAME_CHARACTERS].strip(" .")
