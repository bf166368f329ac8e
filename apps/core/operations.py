"""Describe a view method where it stands, and say which scope a token needs for it.

    operation = partial(describe, tag="Summaries")

    class SummaryView(APIView):
        @operation("get_summary", scope=Scope.READ, answers=SessionSummarySerializer)
        def get(self, request: Request, summary_id: str) -> Response:
            "Get a summary. The first sentence is the summary, the rest the description."

`apps.core.openapi` makes the API document of these; `apps.accounts.authentication` lets no weaker token in. A method
without an operation is not documented and needs `admin`. Do not import DRF's views here: they import that module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter

from apps.core.errors import JiyiError
from apps.core.fields import MAX_KEY_CHARS

JSON = "application/json"
EVENTS = "text/event-stream"
# Some of what Python takes for white space is none in JavaScript.
NOT_BLANK = r"[^\s\x1c-\x1f\x85]"
Method = TypeVar("Method", bound=Callable[..., Any])

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": NOT_BLANK, "maxLength": MAX_KEY_CHARS},
    OpenApiParameter.HEADER,
    description="Repeating a key (of messages, in the same session) returns the first result; nothing is stored twice.",
)


@dataclass(frozen=True)
class Component:
    """Name a JSON schema that has no serializer. `example`: one of its objects."""

    name: str
    schema: Mapping[str, Any]
    example: Any = None


@dataclass(frozen=True)
class Answer:
    """Describe a successful response; without a `description` it has the phrase of its status, such as "Created".

    `schema`: a serializer, `Component` or JSON schema. The examples of serializers are their own (`example`).
    """

    schema: Any
    description: str = ""
    media_type: str = JSON
    example: Any = None


@dataclass(frozen=True)
class Problem:
    """Describe an error by its class. `when`: half a sentence for people; `fields`: an example of them."""

    error: type[JiyiError]
    when: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorShape:
    """Describe how a door writes errors; its views have it as `error_shape`.

    `encode`: from a status and our error, ``{"code", "message", "fields"}``, to the body.
    """

    name: str
    schema: Mapping[str, Any]
    encode: Callable[[int, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Operation:
    """Hold what is known of one method of a view: what cannot be derived.

    `id` is in snake case with the verb first, and never changes: generated clients have functions of that name.
    `parameters` adds to what is known of the path, filters and pages, or takes its place by name.
    `body`: a serializer or `Component`; its media type is the one that the view parses.
    `answers`: what is answered with `status`, or `Answer`s by status, in a list for several media types. Without it, a
    DELETE answers `{"deleted": n}`, and other methods what the view's `serializer_class` says.
    `problems`: only those that not every such request can have; each is provoked in tests/contracts.
    `unbound`: it concerns all that a person has, and is refused to a token that is bound to a space (P5).
    """

    id: str
    tag: str
    scope: str
    summary: str
    description: str
    parameters: Sequence[OpenApiParameter] = ()
    body: Any = None
    status: int = 200
    answers: Any = None
    problems: Sequence[Problem] = ()
    unbound: bool = False


def describe(id: str, **known: Any) -> Callable[[Method], Method]:
    """Describe a view method by an `Operation`, whose summary and description are the method's docstring."""

    def mark(method: Method) -> Method:
        summary, _, description = " ".join((method.__doc__ or "").split()).partition(".")
        method.operation = Operation(id, summary=summary, description=description.strip(), **known)  # type: ignore[attr-defined]
        return method

    return mark


def query(name: str, description: str, kind: Any = str, **more: Any) -> OpenApiParameter:
    """Describe a parameter of the query string. `kind`: a type or a JSON schema."""
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description, **more)


def event(name: str, description: str, *, names: Sequence[str] = ()) -> Component:
    """Describe a server-sent event, which before OpenAPI 3.2 stands for a whole stream. `names`: those it can have."""
    properties: dict[str, Any] = {"data": {"type": "string"}}
    if names:
        properties["event"] = {"type": "string", "enum": list(names)}
    about = f"A server-sent event. {description}"
    return Component(
        name, {"type": "object", "description": about, "required": sorted(properties), "properties": properties}
    )
