"""Reading server-sent events (HTML standard, section 9.2) and the turn that they tell. Pure: fed with bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from jiyi._decoding import Into
from jiyi.errors import ConnectionFailed, UnexpectedAnswer, read_error
from jiyi.types import Delta, Done, Started, Turn, TurnEvent

# Only these end a line: JSON may hold U+2028 and the like as they are. A CR at the end may be half of a CRLF.
_LINE_END = re.compile(rb"\r\n|\n|\r(?!$)")

_read_started, _read_delta, read_turn = Into(Started), Into(Delta), Into(Turn)


class EventReader:
    """The events of a stream, from its bytes as they come."""

    def __init__(self) -> None:
        self._buffer = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[tuple[str, str]]:
        """Yield ``(name, data)`` of each event that this piece completes."""
        *lines, self._buffer = _LINE_END.split(self._buffer + piece)
        for line in lines:
            field, _, value = line.decode("utf-8", errors="replace").partition(":")
            value = value.removeprefix(" ")
            if not line:
                if self._data:
                    yield self._name or "message", "\n".join(self._data)
                self._name, self._data = "", []
            elif field == "event":
                self._name = value
            elif field == "data":
                self._data.append(value)


class TurnReader:
    """The events of a streamed turn. `finished`: its last event was read."""

    def __init__(self) -> None:
        self._events = EventReader()
        self.started = False
        self.finished = False

    def feed(self, piece: bytes) -> Iterator[TurnEvent]:
        """Yield the events that this piece completes. Raises the error that the stream reports."""
        for name, data in self._events.feed(piece):
            self.started = True
            yield from self._read(name, _parse(data))

    def end(self) -> None:
        """Note the end of the stream. Raises `ConnectionFailed` if the turn was not told to its end."""
        if not self.finished:
            raise ConnectionFailed(
                "The stream ended before the reply did. The server completes the reply and stores it all the same."
            )

    def _read(self, name: str, data: Any) -> Iterator[TurnEvent]:
        match name:
            case "start":
                yield _read_started(data)
            case "delta":
                yield _read_delta(data)
            case "done":
                self.finished = True
                yield Done(turn=read_turn(data))
            case "error":
                self.finished = True
                raise read_error(_status_of(data), data)


def _parse(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise UnexpectedAnswer("An event of the stream is not JSON.") from error


_STATUSES = {"model_unavailable": 503, "unavailable": 503, "storage_full": 503, "not_found": 404, "conflict": 409}


def _status_of(data: Any) -> int:
    """The HTTP status that an `error` event would have had: it comes after a 200 was sent."""
    error = data.get("error") if isinstance(data, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return _STATUSES.get(str(code), 500)
