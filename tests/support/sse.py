"""Server-sent events as a client reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    name: str
    data: Any


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """Parse server-sent events; comments are skipped."""
    name, data = "message", ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data += line.removeprefix("data: ")
        elif not line and data:
            yield Event(name, json.loads(data))
            name, data = "message", ""
