"""The OpenAPI document as the product makes it, and how to look things up in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator, FormatChecker


@dataclass(frozen=True)
class Described:
    """An operation of the document. `name`: method and path, such as ``GET /profile``."""

    name: str
    path: str
    method: str
    operation: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.operation["operationId"])

    @property
    def request(self) -> tuple[str, dict[str, Any]] | None:
        """The media type of the body and what is said about it; None without one."""
        content = self.operation.get("requestBody", {}).get("content", {})
        return next(iter(content.items()), None)


@cache
def get_document() -> dict[str, Any]:
    """The whole document."""
    document: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return document


@cache
def list_described() -> list[Described]:
    """All operations of the document."""
    return [
        Described(f"{method.upper()} {path}", path, method, operation)
        for path, operations in get_document()["paths"].items()
        for method, operation in operations.items()
    ]


def resolve(value: dict[str, Any]) -> dict[str, Any]:
    """What a reference refers to; anything else is returned as it is."""
    while "$ref" in value:
        found: Any = get_document()
        for part in value["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        value = found
    return value


def list_examples(media: dict[str, Any]) -> list[Any]:
    """The examples of a media type object, and of the component that it refers to."""
    single = [media["example"]] if "example" in media else []
    named = [example["value"] for example in media.get("examples", {}).values()]
    return [*single, *named, *resolve(media.get("schema", {})).get("examples", [])]


def check_example(example: Any, schema: dict[str, Any]) -> None:
    """Fail unless the example is as its schema says."""
    validator = Draft202012Validator(
        {**schema, "components": get_document()["components"]}, format_checker=FormatChecker()
    )
    assert [error.message for error in validator.iter_errors(example)] == []


def list_fields(schema: dict[str, Any]) -> set[str]:
    """The names of the fields of an object, those inside with a dot; of a list or a page, of its items."""
    schema = resolve(schema)
    fields: set[str] = set()
    for part in schema.get("anyOf", schema.get("oneOf", schema.get("allOf", []))):
        fields |= list_fields(part)
    if "items" in schema:
        fields |= list_fields(schema["items"])
    for name, inside in schema.get("properties", {}).items():
        inner = list_fields(inside)
        fields |= inner if name == "results" else {name, *(f"{name}.{one}" for one in inner)}
    return fields


def list_texts(value: Any) -> Iterator[str]:
    """All summaries and descriptions, however deep; examples are left out."""
    if isinstance(value, dict):
        for name, inside in value.items():
            if name in ("summary", "description") and isinstance(inside, str):
                yield inside
            elif name not in ("example", "examples", "default"):
                yield from list_texts(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from list_texts(inside)
