"""From the JSON of an answer to the values of `jiyi.types`, and back."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Generic, TypeVar

from jiyi.errors import UnexpectedAnswer
from jiyi.types import Page

T = TypeVar("T")
Reader = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Into(Generic[T]):
    """Decode an answer that is one value of a type."""

    kind: type[T]

    def __call__(self, data: Any) -> T:
        value: T = _read(self.kind, data)
        return value


@dataclass(frozen=True, slots=True)
class PageOf(Generic[T]):
    """Decode one page of a list."""

    kind: type[T]

    def __call__(self, data: Any) -> Page[T]:
        page: Page[T] = _read(Page[self.kind], data)  # type: ignore[name-defined]
        return page


@dataclass(frozen=True, slots=True)
class ListOf(Generic[T]):
    """Decode an answer that is a list, or an object whose `field` is one."""

    kind: type[T]
    field: str | None = "results"

    def __call__(self, data: Any) -> list[T]:
        items: list[T] = _read(list[self.kind], data if self.field is None else _get(data, self.field))  # type: ignore[name-defined]
        return items


@dataclass(frozen=True, slots=True)
class Number:
    """Decode an answer that says how many."""

    field: str

    def __call__(self, data: Any) -> int:
        return int(_read(int, _get(data, self.field)))


def read_object(data: Any) -> dict[str, Any]:
    """Decode an answer that is any JSON object."""
    value: dict[str, Any] = _read(dict[str, Any], data)
    return value


def to_json(value: Any) -> Any:
    """Return a value of `jiyi.types` as JSON holds it: objects, lists, and times in ISO 8601."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def to_readable(value: Any) -> str:
    """Return a value as text: lists with commas, objects as `name: value`, not as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(to_readable, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {to_readable(item)}" for name, item in value.items())
    return json.dumps(value, ensure_ascii=False)


def _get(data: Any, field: str) -> Any:
    if not isinstance(data, dict) or field not in data:
        raise UnexpectedAnswer(f"The answer has no field {field}.")
    return data[field]


def _read(kind: Any, data: Any) -> Any:
    try:
        return _reader(kind)(data)
    except (KeyError, TypeError, ValueError) as error:
        raise UnexpectedAnswer(f"The answer is not of the API's format: {error}.") from error


@cache
def _reader(kind: Any) -> Reader:
    """Return the function that reads values of an annotation. It raises KeyError, TypeError or ValueError."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is datetime:
        return datetime.fromisoformat
    if kind is float:
        return _read_number
    if kind is Any or origin is typing.Literal:
        return _as_it_is
    if origin is list:
        return _list_reader(_reader(arguments[0]))
    if origin is dict:
        return _dict_reader(_reader(arguments[1]))
    if origin in (types.UnionType, typing.Union):  # the latter of a Literal or None
        return _optional_reader(_reader(next(part for part in arguments if part is not types.NoneType)))
    if is_dataclass(origin or kind):
        return _dataclass_reader(origin or kind, arguments)
    return _plain_reader(kind)


def _as_it_is(data: Any) -> Any:
    return data


def _read_number(data: Any) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise TypeError(f"{data!r} is not a number")
    return float(data)


def _plain_reader(kind: type) -> Reader:
    def read(data: Any) -> Any:
        if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
            raise TypeError(f"{data!r} is not of type {kind.__name__}")
        return data

    return read


def _optional_reader(inner: Reader) -> Reader:
    return lambda data: None if data is None else inner(data)


def _list_reader(inner: Reader) -> Reader:
    check = _plain_reader(list)
    return lambda data: [inner(item) for item in check(data)]


def _dict_reader(inner: Reader) -> Reader:
    check = _plain_reader(dict)
    return lambda data: {name: inner(item) for name, item in check(data).items()}


def _dataclass_reader(kind: Any, arguments: tuple[Any, ...]) -> Reader:
    hints = typing.get_type_hints(kind)
    bound = dict(zip(getattr(kind, "__parameters__", ()), arguments, strict=True))
    readers = {field.name: _reader(_bind(hints[field.name], bound)) for field in fields(kind)}
    optional = {field.name for field in fields(kind) if field.default is not MISSING}
    check = _plain_reader(dict)

    def read(data: Any) -> Any:
        given = check(data)
        missing = [name for name in readers if name not in given and name not in optional]
        if missing:
            raise KeyError(f"{kind.__name__} without {missing[0]}")
        return kind(**{name: reader(given[name]) for name, reader in readers.items() if name in given})

    return read


def _bind(hint: Any, bound: Mapping[Any, Any]) -> Any:
    """Put the arguments of a generic dataclass in place of its type variables: ``list[T]`` is all there is."""
    if typing.get_origin(hint) is list and typing.get_args(hint)[0] in bound:
        return list[bound[typing.get_args(hint)[0]]]  # type: ignore[misc]
    return hint
