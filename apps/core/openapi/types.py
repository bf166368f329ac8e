"""What is said about an operation of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drf_spectacular.utils import OpenApiParameter

JSON = "application/json"
NOT_BLANK = r"[^\s\x1c-\x1f\x85]"
"""The pattern of a text that says something; some of what Python takes for white space is none in JavaScript."""


class Examples(dict[str, Any]):
    """Several examples by their names, in place of a single one."""


@dataclass(frozen=True)
class Component:
    """A JSON schema with a name, for what has no serializer."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Body:
    """A request body: a serializer, `Component` or JSON schema, and an example of it or `Examples`."""

    schema: Any
    example: Any
    media_type: str = JSON


@dataclass(frozen=True)
class Answer:
    """A successful response. Without a `description` it has the phrase of its status, such as "Created"."""

    schema: Any
    example: Any
    description: str = ""
    media_type: str = JSON


@dataclass(frozen=True)
class Problem:
    """An error that only some operations have. `when`: half a sentence for people; the rest is the error itself."""

    when: str
    code: str
    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorShape:
    """What errors look like. `encode`: the body of ours, ``{"code", "message", "fields"}``, of a status."""

    name: str
    schema: Mapping[str, Any]
    encode: Callable[[int, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    `id` is in snake case with the verb first, and never changes: generated clients have functions of that name.
    `parameters` adds to, or takes the place of, what is known of the path, of filters and of pages.
    `answers` and `problems` are by status; a status of `errors.SHARED` may have problems of its own besides.
    `errors`: their shape, where it is not the one of REST.
    """

    id: str
    summary: str
    tag: str
    answers: Mapping[int, Answer | Sequence[Answer]]
    description: str = ""
    parameters: Sequence[OpenApiParameter] = ()
    body: Body | None = None
    problems: Mapping[int, Problem | Sequence[Problem]] = field(default_factory=dict)
    errors: ErrorShape | None = None

    def list_answers(self) -> list[tuple[int, Answer]]:
        """All answers with their status; one status can have several, of different media types."""
        return [
            (status, answer)
            for status, given in self.answers.items()
            for answer in ([given] if isinstance(given, Answer) else given)
        ]

    def list_problems(self, status: int) -> list[Problem]:
        """The problems of its own with this status."""
        given = self.problems.get(status, ())
        return [given] if isinstance(given, Problem) else list(given)


def page(item: Any) -> dict[str, Any]:
    """An example of a page of a list that has only this item."""
    return {"count": 1, "next": None, "previous": None, "results": [item]}


def event(name: str, description: str, *, names: Sequence[str] = ()) -> Component:
    """A server-sent event, which before OpenAPI 3.2 describes a whole stream. `names`: those that it can have."""
    properties: dict[str, Any] = {"data": {"type": "string"}}
    if names:
        properties["event"] = {"type": "string", "enum": list(names)}
    about = f"A server-sent event. {description}"
    return Component(
        name, {"type": "object", "description": about, "required": sorted(properties), "properties": properties}
    )


def query(name: str, description: str, kind: Any = str, **more: Any) -> OpenApiParameter:
    """A parameter of the query string. `kind`: a type or a JSON schema."""
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description, **more)


def path_id(name: str, description: str) -> OpenApiParameter:
    """An ID in the path."""
    return OpenApiParameter(name, {"type": "string", "format": "uuid"}, OpenApiParameter.PATH, True, description)


def ordering(*names: str) -> OpenApiParameter:
    """The parameter `ordering` of a list."""
    choices = [choice for name in names for choice in (name, f"-{name}")]
    kind = {"type": "string", "enum": choices, "default": "-created_at"}
    return query("ordering", "With a minus, descending.", kind)
