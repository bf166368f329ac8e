"""The client says what the OpenAPI document says: the same operations, parameters, bodies and answers."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Literal

import pytest

import jiyi.resources.conversations
import jiyi.resources.imports
import jiyi.resources.memories
import jiyi.resources.person
from jiyi import Jiyi
from jiyi._decoding import Into, ListOf, Number, PageOf, read_object
from jiyi._requests import UNSET, Request, Resource, all_pages, call, stream
from jiyi.types import Page
from tests.contracts.document import get_document

OF_OPENAI = "any client for OpenAI's API has it"
# Operations without a method, and why.
LEFT_OUT = {
    "POST /v1/chat/completions": OF_OPENAI,
    "GET /v1/models": OF_OPENAI,
    "GET /v1/models/{model}": OF_OPENAI,
    "POST /v1/embeddings": OF_OPENAI,
    "POST /v1/responses": OF_OPENAI,
    "GET /v1/responses/{response_id}": OF_OPENAI,
}
# Fields that the method itself chooses: there is one method for each value.
NOT_SENT = {
    # A text is sent as a file of the format "text".
    "imports.preview": {"text"},
    "imports.create": {"dry_run", "text"},
    "sessions.rename": {"pinned", "archived", "paused", "model", "space"},
    "sessions.send": {"stream"},
    "messages.retry": {"stream"},
    "messages.regenerate": {"stream"},
    "messages.edit": {"stream"},
}

Methods = dict[str, "call[..., Any] | stream[...]"]


def list_methods() -> Methods:
    """Every method that sends a request, by its name in the client."""
    client = Jiyi("http://127.0.0.1", "token")
    client.close()
    parts = {name: part for name, part in vars(client).items() if isinstance(part, Resource)}
    return {
        f"{name}.{method}": value
        for name, part in parts.items()
        for method, value in vars(type(part)).items()
        if isinstance(value, call | stream)
    }


METHODS = list_methods()


def list_operations() -> Iterator[tuple[str, str]]:
    for path, operations in get_document()["paths"].items():
        for method in operations:
            yield method.upper(), path


def describe(method: Any, *, required_only: bool = False) -> Request[Any]:
    """The request of a method, with something in each of its parameters."""
    signature, hints = inspect.signature(method.describe), typing.get_type_hints(method.describe)
    wanted = {
        name: make_value(hints[name], name)
        for name, parameter in list(signature.parameters.items())[1:]
        if not required_only or parameter.default is inspect.Parameter.empty
    }
    return method.describe(None, **wanted)


def make_value(hint: Any, name: str) -> Any:
    """A value of an annotation."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return make_value(arguments[0], name)
    if origin is Literal:
        return arguments[0]
    if origin in (Sequence, list):
        return [make_value(arguments[0], name)]
    if origin is Mapping:
        return {"name": "value"}
    if hint is datetime:
        return datetime(2026, 11, 24).astimezone()
    return {str: name, int: 1, float: 0.5, bool: True, bytes: b"[]", Any: "value"}.get(hint, {"name": "value"})


def get_operation(request: Request[Any]) -> dict[str, Any]:
    operation: dict[str, Any] = get_document()["paths"][request.path][request.method.lower()]
    return operation


def resolve(schema: Any) -> Any:
    """A schema without references and without what only wraps one."""
    if "$ref" in schema:
        return resolve(get_document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if len(schema.get("allOf", [])) == 1:
        return resolve(schema["allOf"][0])
    return schema


def get_body(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    chosen = content.get("application/json") or content.get("multipart/form-data") or {"schema": {}}
    return resolve(chosen["schema"])


def get_answers(operation: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas of the answers of success, as JSON."""
    return [
        resolve(response["content"]["application/json"]["schema"])
        for status, response in operation["responses"].items()
        if status.startswith("2") and "application/json" in response.get("content", {})
    ]


# What is there


def test_every_operation_has_a_method_or_a_reason():
    served = {(request.method, request.path) for request in map(describe, METHODS.values())}
    documented = set(list_operations())
    assert served - documented == set()
    assert {f"{method} {path}" for method, path in documented - served} == set(LEFT_OUT)


def test_every_list_can_be_iterated():
    client = Jiyi("http://127.0.0.1", "token")
    client.close()
    lists = {name for name, method in METHODS.items() if isinstance(describe(method).read, PageOf)}
    iterated = {
        f"{name}.{next(key for key, value in vars(type(part)).items() if value is listing.listing)}"
        for name, part in vars(client).items()
        if isinstance(part, Resource)
        for listing in vars(type(part)).values()
        if isinstance(listing, all_pages)
    }
    assert lists == iterated


# What is sent


def test_parameters_are_those_of_the_document(subtests: pytest.Subtests):
    for name, method in METHODS.items():
        with subtests.test(name):
            request = describe(method)
            documented = get_operation(request).get("parameters", [])
            by_place = {
                place: {p["name"] for p in documented if p["in"] == place} for place in ("path", "query", "header")
            }
            assert set(request.ids) == by_place["path"] == set(re.findall(r"{(\w+)}", request.path))
            assert set(request.parameters) == by_place["query"]
            assert set(request.headers) == by_place["header"]


def test_the_body_is_that_of_the_document(subtests: pytest.Subtests):
    for name, method in METHODS.items():
        with subtests.test(name):
            request = describe(method)
            schema = get_body(get_operation(request))
            if name == "settings.update":
                assert request.body == {"name": "value"}  # any setting by its name
                continue
            assert get_sent(request) | NOT_SENT.get(name, set()) == set(schema.get("properties", {}))
            always = get_sent(describe(method, required_only=True))
            assert always >= set(schema.get("required", []))


def get_sent(request: Request[Any]) -> set[str]:
    return {*(request.body or {}), *({"file"} if request.file is not None else ())}


def test_a_past_message_is_that_of_the_document():
    body = get_body(get_document()["paths"]["/chat/sessions/{session_id}/turns"]["post"])
    documented = resolve(body["properties"]["messages"]["items"])
    past = jiyi.resources.conversations.PastMessage
    assert set(documented["properties"]) == past.__required_keys__ | past.__optional_keys__
    assert set(documented["required"]) == past.__required_keys__


# What is read

# Methods of one operation, each of which gets one of its two answers.
ONE_OF_TWO = {"imports.preview", "imports.create"}


def test_the_answer_is_read_as_the_document_has_it(subtests: pytest.Subtests):
    for name, method in METHODS.items():
        with subtests.test(name):
            request = describe(method)
            answers = get_answers(get_operation(request))
            assert answers
            for schema in answers:
                match request.read:
                    case Into(kind):
                        if name in ONE_OF_TWO and set(schema["properties"]) != set(typing.get_type_hints(kind)):
                            continue
                        check_type(kind, schema, at=name)
                    case PageOf(kind):
                        check_type(Page, schema, at=name, item=kind)
                    case ListOf(kind, field):
                        check_type(
                            list[kind], schema if field is None else resolve(schema["properties"][field]), at=name
                        )
                    case Number(field):
                        assert resolve(schema["properties"][field])["type"] == "integer"
                    case read if read is read_object:
                        assert schema["type"] == "object"
                    case read:
                        raise AssertionError(f"{name} reads its answer with {read}")


def check_type(hint: Any, schema: Any, *, at: str, item: Any = None, optional: bool = False) -> None:
    """Compare an annotation with a schema, all the way down. `item`: what a page is of. `optional`: may be left out."""
    schema = resolve(schema)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if is_dataclass(hint):
        check_fields(hint, schema, at=at, item=item)
    elif origin in (types.UnionType, typing.Union):
        check_type(arguments[0], without_null(schema), at=at)
        assert arguments[1] is type(None)
        assert accepts_null(schema) or optional, f"{at} is never null"
    elif origin is list:
        assert schema["type"] == "array", at
        check_type(item if isinstance(arguments[0], typing.TypeVar) else arguments[0], schema["items"], at=at)
    elif origin is dict:
        assert schema["type"] == "object", at
        if arguments[1] is not Any:
            check_type(arguments[1], schema["additionalProperties"], at=at)
    elif origin is Literal:
        assert set(arguments) == set(schema["enum"]), at
    elif hint is datetime:
        assert schema.get("format") == "date-time", at
        assert not accepts_null(schema), at
    elif hint is not Any:
        assert schema["type"] == {str: "string", int: "integer", float: "number", bool: "boolean"}[hint], at


def check_fields(kind: Any, schema: Any, *, at: str, item: Any) -> None:
    hints, documented = typing.get_type_hints(kind), schema["properties"]
    assert set(hints) == set(documented), at
    for field in fields(kind):
        place = f"{kind.__name__}.{field.name}"
        optional = field.default is None
        assert optional is (field.name not in schema.get("required", [])), place
        check_type(hints[field.name], documented[field.name], at=place, item=item, optional=optional)


def accepts_null(schema: Any) -> bool:
    alternatives = schema.get("oneOf", []) + schema.get("anyOf", [])
    return "null" in schema.get("type", []) or any(resolve(part).get("type") == "null" for part in alternatives)


def without_null(schema: Any) -> Any:
    """The schema of the values that are not null."""
    for part in schema.get("oneOf", []) + schema.get("anyOf", []):
        if resolve(part).get("type") != "null":
            return resolve(part)
    kinds = schema.get("type", [])
    return schema | {"type": next(kind for kind in kinds if kind != "null")} if isinstance(kinds, list) else schema


def test_unset_is_left_out_and_none_is_sent():
    described = jiyi.resources.memories.WorkingMemories.update.describe
    assert described(None, "id").body == {}
    assert described(None, "id", current_topic=UNSET, context_variables={"a": None}).body == {
        "context_variables": {"a": None}
    }
    assert described(None, "id", current_topic=None).body == {"current_topic": None}
