"""Reading request bodies: strict JSON and nothing else. Named in the settings, so it must not import DRF's views."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from django.conf import settings
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.core.errors import InvalidInput, TooLarge
from apps.core.text.clean import find_forbidden

MAX_COMMAS = 1_000_000
"""Between the values of a body, and in its texts. Reading millions of values would keep everybody waiting: `json` does
not let go of the interpreter meanwhile. Sixteen megabytes of prose have a third of it."""


class JSONOnly(BaseContentNegotiation):
    """Answer JSON whatever the client accepts: a client of an event stream asks for ``text/event-stream``."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = (request.content_type or "").split(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type or "application/json"


def refuse_too_many_parts(body: bytes) -> None:
    """Raise `TooLarge` (413) for JSON with more than `MAX_COMMAS`."""
    if body.count(b",") > MAX_COMMAS:
        raise TooLarge(f"The body has over {MAX_COMMAS:,} commas.")


class StrictJSONParser(BaseParser):
    """Reads a JSON body; refuses what a database or another client could not read back.

    400 for malformed JSON, NaN and infinities, U+0000 and lone surrogates; 413 for more than
    `DATA_UPLOAD_MAX_MEMORY_SIZE` bytes, which Django holds only its own parsers to (SPEC, API), or `MAX_COMMAS`.
    """

    media_type = "application/json"
    refuses_forbidden = True

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge(f"The body has over {limit:,} bytes.")
        refuse_too_many_parts(body)
        try:
            value = json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise exceptions.ParseError(f"The body is not valid JSON: {error}") from error
        if self.refuses_forbidden:
            refuse_forbidden(value)
        return value


class UncleanedJSONParser(StrictJSONParser):
    """Leaves U+0000 and lone surrogates to the view, which knows what its client can change."""

    refuses_forbidden = False


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def refuse_forbidden(value: Any) -> None:
    """Raise `InvalidInput` when a string anywhere in `value` holds U+0000 or a lone surrogate."""
    if found := find_forbidden(value):
        raise InvalidInput(f"Text must not contain {found}.")
