"""Timing of streamed calls over HTTP: a turn of the product, or a chat model's answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import httpx2

from benchmarks.figures import Call


class NotAnswered(Exception):
    """A stream that did not come to its proper end."""


def time_turn(
    client: httpx2.Client, *, session_id: str, content: str, headers: Mapping[str, str] | None = None
) -> Call:
    """Send a message as a streamed turn; time it to its first piece of text and to the end of the response."""
    path = f"/chat/sessions/{session_id}/messages"
    body = {"content": content, "stream": True}
    return time_stream(client, path, body, first="event: delta", last="event: done", headers=headers)


def time_completion(client: httpx2.Client, *, messages: list[dict[str, str]]) -> Call:
    """Ask for a streamed chat completion of these messages; time it as `time_turn` does."""
    body = {"model": "jiyi", "messages": messages, "stream": True}
    return time_stream(client, "/v1/chat/completions", body, first='"delta": {"content": "', last="data: [DONE]")


def time_stream(
    client: httpx2.Client,
    path: str,
    body: dict[str, Any],
    *,
    first: str,
    last: str,
    headers: Mapping[str, str] | None = None,
) -> Call:
    """Time a streamed response to the first line that holds `first` and to its end; it must have one with `last`.

    Raises `NotAnswered`, or httpx2's HTTPError.
    """
    start = time.perf_counter()
    first_at, ended = None, False
    with client.stream("POST", path, json=body, headers=headers) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if first_at is None and first in line:
                first_at = time.perf_counter()
            ended = ended or last in line
    end = time.perf_counter()
    if first_at is None or not ended:
        raise NotAnswered(f"{path} did not answer to its end")
    return Call(first_token_ms=(first_at - start) * 1000, end_ms=(end - start) * 1000)
