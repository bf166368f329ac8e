"""Read request bodies: strict JSON, known fields only, and values as they are (no ``"true"`` for true).

Named in the settings, so it must not import DRF's views.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from rest_framework import exceptions, serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.core.errors import InvalidInput, TooLarge
from apps.core.text.clean import find_forbidden
from apps.core.times import exists_everywhere

# Commas between the values of a body, and in its texts. Reading millions of values would keep everybody waiting: `json`
# does not let go of the interpreter meanwhile. Sixteen megabytes of prose have a third of it.
MAX_COMMAS = 1_000_000


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


class StrictJSONParser(BaseParser):
    """Reads a JSON body; refuses what a database or another client could not read back.

    400 for malformed JSON, NaN and infinities, U+0000 and lone surrogates; 413 for more than
    `DATA_UPLOAD_MAX_MEMORY_SIZE` bytes, which Django holds only its own parsers to, or `MAX_COMMAS`.
    """

    media_type = "application/json"
    refuses_forbidden = True

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge(f"The body has over {limit:,} bytes.")
        if body.count(b",") > MAX_COMMAS:
            raise TooLarge(f"The body has over {MAX_COMMAS:,} commas.")
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


# Characters of an Idempotency-Key.
MAX_KEY_CHARS = 255


def read_idempotency_key(request: Request) -> str | None:
    """Return the key of a request, None without one. Raises `InvalidInput` for one that is empty or too long."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not key.strip() or len(key) > MAX_KEY_CHARS:
        raise InvalidInput(f"Idempotency-Key must have 1 to {MAX_KEY_CHARS} characters.")
    refuse_forbidden(key)
    return key


class KnownFieldsSerializer(serializers.Serializer[Any]):
    """Reject unknown fields, because the value of a mistyped field would be lost."""

    example: ClassVar[Any] = None  # of a body, for the API document
    ignored: frozenset[str] = frozenset()

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, Mapping):
            unknown = [name for name in data if name not in self.fields and name not in self.ignored]
            if unknown:
                raise serializers.ValidationError({name: ["This field cannot be set here."] for name in unknown})
        values: dict[str, Any] = super().to_internal_value(data)
        return values


class DeletedSerializer(serializers.Serializer[Any]):
    """The result of a DELETE."""

    deleted = serializers.IntegerField(help_text="How many were deleted.")


def results_of(name: str, item: type[serializers.Serializer[Any]], about: str) -> type[serializers.Serializer[Any]]:
    """Return the serializer of all of a list at once; `name` and `about`: its component in the API document."""
    return type(f"{name}Serializer", (serializers.Serializer,), {"__doc__": about, "results": item(many=True)})


def read_body(serializer: type[serializers.BaseSerializer[Any]], request: Request, **options: Any) -> dict[str, Any]:
    """Return the validated body of a request. Raises DRF's `ValidationError`. `options`: the serializer's."""
    body = serializer(data=request.data, **options)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


class _OnlyStrings(serializers.Field[Any, Any, Any, Any]):
    """Mixed into a field, refuses every JSON value but a string."""

    default_error_messages = {"not_a_string": "Must be a string."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("not_a_string")
        return super().to_internal_value(data)


class StrictCharField(_OnlyStrings, serializers.CharField):
    """A JSON string; numbers are not turned into text."""

    def to_internal_value(self, data: Any) -> Any:
        # What the document calls too long is refused, though it would fit without the white space around it.
        if isinstance(data, str) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)


class StrictBooleanField(serializers.BooleanField):
    """``true`` or ``false``; words and numbers are not turned into either."""

    default_error_messages = {"not_a_boolean": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("not_a_boolean")
        return data


class StrictIntegerField(serializers.IntegerField):
    """A whole JSON number, 5 or 5.0; neither a word nor true nor false."""

    default_error_messages = {"not_an_integer": "Must be a whole number."}

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, float) and data.is_integer():
            return int(data)
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("not_an_integer")
        return super().to_internal_value(data)


class StrictUUIDField(_OnlyStrings, serializers.UUIDField):
    """A UUID as text; a number is none, although one could be made of it."""


class StrictFloatField(serializers.FloatField):
    """A JSON number; neither a word nor true nor false."""

    default_error_messages = {"not_a_number": "Must be a number."}

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("not_a_number")
        try:
            return super().to_internal_value(data)
        except OverflowError:  # JSON knows larger numbers
            self.fail("not_a_number")


class StrictDateTimeField(_OnlyStrings, serializers.DateTimeField):
    """A time in ISO 8601 with its offset from UTC; without one nobody knows which hour is meant.

    Times that have no date in some time zone are refused: nobody there could be shown them.
    """

    default_error_messages = {"no_offset": "Must have an offset, such as Z."}

    def enforce_timezone(self, value: datetime) -> datetime:
        if value.tzinfo is None:
            self.fail("no_offset")
        if not exists_everywhere(value):
            self.fail("overflow")
        return super().enforce_timezone(value)


class ShortListField(serializers.ListField):
    """A list whose items are looked at only where there are not too many of them."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            raise serializers.ValidationError(self.error_messages["max_length"].format(max_length=self.max_length))
        return list(super().to_internal_value(data))
