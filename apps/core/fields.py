"""Serializer fields that take a value as it is: no ``"true"`` for true, no 1 for "1"."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework import serializers

from apps.core.times import exists_everywhere


class StrictCharField(serializers.CharField):
    """A JSON string; numbers are not turned into text."""

    default_error_messages = {"not_a_string": "Must be a string."}

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("not_a_string")
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


class StrictUUIDField(serializers.UUIDField):
    """A UUID as text; a number is none, although one could be made of it."""

    default_error_messages = {"not_a_string": "Must be a string."}

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("not_a_string")
        return super().to_internal_value(data)


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


class StrictDateTimeField(serializers.DateTimeField):
    """A time in ISO 8601 with its offset from UTC; without one nobody knows which hour is meant.

    Times that have no date in some time zone are refused: nobody there could be shown them.
    """

    default_error_messages = {"not_a_string": "Must be a string.", "no_offset": "Must have an offset, such as Z."}

    def to_internal_value(self, value: Any) -> datetime:
        if not isinstance(value, str):
            self.fail("not_a_string")
        return super().to_internal_value(value)

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
