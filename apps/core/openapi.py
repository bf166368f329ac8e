"""Make the OpenAPI document of the operations on the views (`apps.core.operations`). Named in the settings.

The title, the tags and the names of enumerations are in ``project/openapi.py``. A serializer's `example` is the example
of its component; a request shows of it what can be sent.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import django_filters  # type: ignore[import-untyped]
import drf_spectacular.openapi
from drf_spectacular.plumbing import ResolvedComponent, force_instance, is_serializer
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.mixins import ListModelMixin

from apps.core.errors import Forbidden, InvalidInput, JiyiError, NotFound, StorageFull, TooLarge, Unauthenticated
from apps.core.errors import Unavailable as StoreAway
from apps.core.fields import DeletedSerializer, KnownFieldsSerializer
from apps.core.operations import JSON, NOT_BLANK, Answer, Component, ErrorShape, Operation, Problem

# Errors


class _UnknownMediaType(JiyiError):
    status, code = 415, "unsupported_media_type"


class _Throttled(JiyiError):
    status, code = 429, "throttled"


@dataclass(frozen=True)
class SharedError:
    """Describe an error of many operations; `name` is that of its component."""

    name: str
    description: str
    problems: Sequence[Problem]
    headers: Mapping[str, Any] = field(default_factory=dict)


_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}

SHARED: dict[int, SharedError] = {
    400: SharedError(
        "BadRequest",
        "The body or a parameter is not valid. Nothing was changed.",
        [
            Problem(InvalidInput, "A field does not exist", {"vlaue": ["This field cannot be set here."]}),
            Problem(InvalidInput, "A parameter is out of range", {"limit": ["Must be a whole number from 1 to 200."]}),
        ],
    ),
    401: SharedError(
        "Unauthorized",
        "There is no valid token, and nobody is logged in.",
        [Problem(Unauthenticated, "There is no token")],
        {"WWW-Authenticate": {"description": "How to authenticate.", "schema": {"type": "string"}}},
    ),
    403: SharedError(
        "Forbidden",
        "The token's scopes or its space do not allow this, or a browser's request has no CSRF token.",
        [
            Problem(Forbidden, "This needs a token with the scope write", {"scope": ["write"]}),
            Problem(Forbidden, "There is no CSRF token"),
        ],
    ),
    404: SharedError(
        "NotFound",
        "It does not exist, or belongs to somebody else.",
        [Problem(NotFound, "This object does not exist")],
    ),
    413: SharedError(
        "TooLarge", "The body, or a text in it, is too large.", [Problem(TooLarge, "The body is too large")]
    ),
    415: SharedError(
        "UnsupportedMediaType",
        "The body does not have the media type that is documented.",
        [Problem(_UnknownMediaType, "The media type is text/plain")],
    ),
    429: SharedError(
        "TooManyRequests",
        "There were too many requests; only some installations and tokens have a limit.",
        [Problem(_Throttled, "There were too many requests")],
        _RETRY_AFTER,
    ),
    503: SharedError(
        "Unavailable",
        "The database cannot be reached at the moment, or has no space left.",
        [Problem(StoreAway, "The database cannot be reached"), Problem(StorageFull, "The disk is full")],
        _RETRY_AFTER,
    ),
}

ONE_SHAPE = ErrorShape(
    "Error",
    {
        "type": "object",
        "description": "Every error has this shape.",
        "required": ["error"],
        "additionalProperties": False,
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "fields"],
                "additionalProperties": False,
                "properties": {
                    "code": {
                        "type": "string",
                        "description": "Stable, for programs: `invalid`, `unauthenticated`, `forbidden`, `not_found`, "
                        "`conflict`, `too_large`, `unsupported_media_type`, `import_refused`, `throttled`, "
                        "`model_unavailable`, `unavailable`, `storage_full`. "
                        "There may be more in future versions.",
                    },
                    "message": {"type": "string", "description": "One sentence for people."},
                    "fields": {
                        "type": "object",
                        "additionalProperties": True,
                        "description": "What is wrong with which field, or details such as `message_id`. Often empty.",
                    },
                },
            }
        },
    },
    lambda _status, error: {"error": dict(error)},
)


# Operations


class AutoSchema(drf_spectacular.openapi.AutoSchema):
    """Describe the operation of a view method, and derive the rest from the route, the view and its serializers."""

    @property
    def described(self) -> Operation:
        """Return what stands on the method that is under way."""
        found: Operation = getattr(self.view, self.method.lower()).operation
        return found

    def is_excluded(self) -> bool:
        return not hasattr(getattr(self.view, self.method.lower()), "operation")

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation:
            for status, answer in self._list_answers():
                if answer.example is not None:
                    content = operation["responses"][str(status)]["content"]
                    content[answer.media_type]["example"] = answer.example
            operation["responses"] |= self._describe_errors(operation)
        return operation

    def get_operation_id(self) -> str:
        return self.described.id

    def get_summary(self) -> str | None:
        return self.described.summary

    def get_description(self) -> str:  # type: ignore[override]
        return self.described.description

    def get_tags(self) -> list[str]:
        return [self.described.tag]

    def get_auth(self) -> list[dict[str, list[str]]]:
        """Name the scope of each way to authenticate, where OpenAPI 3.1 has roles for such schemes."""
        ways = [name for way in super().get_auth() for name in way]
        if self.described.scope == "admin":  # which no connected application gets
            ways.remove("app")
        return [{name: [] if name == "browser" else [str(self.described.scope)]} for name in ways]

    # Parameters

    def get_override_parameters(self) -> list[Any]:
        return list(self.described.parameters)

    def _resolve_path_parameters(self, variables: list[str]) -> list[dict[str, Any]]:
        schema = {"type": "string", "format": "uuid"}
        return [
            {
                "in": "path",
                "name": name,
                "schema": schema,
                "required": True,
                "description": f"ID of the {name.removesuffix('_id')}.",
            }
            for name in variables
        ]

    def _get_filter_parameters(self) -> list[dict[str, Any]]:
        filters = getattr(self.view, "filterset_class", None)
        if filters is None or not self._is_list():
            return []
        return [_describe_filter(name, one) for name, one in filters.base_filters.items()]

    def _is_list(self) -> bool:
        """Whether this reads a list; what else can be done at the address of one is neither filtered nor paged."""
        return self.method == "GET" and isinstance(self.view, ListModelMixin)

    # Bodies

    def get_request_serializer(self) -> Any:
        body = self.described.body
        return body and {self.map_parsers()[0]: self._resolve(body)}

    def get_response_serializers(self) -> Any:
        return {
            (status, answer.media_type): OpenApiResponse(
                self._resolve(answer.schema), answer.description or HTTPStatus(status).phrase
            )
            for status, answer in self._list_answers()
        }

    def _list_answers(self) -> list[tuple[int, Answer]]:
        """Return all answers with their status; one status can have several, of different media types."""
        given = self.described.answers
        if given is None:
            given = DeletedSerializer if self.method == "DELETE" else getattr(self.view, "serializer_class", None)
        by_status = given if isinstance(given, Mapping) else {self.described.status: given}
        return [
            (status, one if isinstance(one, Answer) else Answer(one))
            for status, several in by_status.items()
            for one in (several if isinstance(several, list) else [several])
        ]

    def _resolve(self, schema: Any) -> Any:
        """Register what is referred to; copies, as post-processing changes what it gets."""
        if not isinstance(schema, Component):
            return deepcopy(schema) if isinstance(schema, dict) else schema
        examples = {} if schema.example is None else {"examples": [schema.example]}
        return self._register(ResolvedComponent.SCHEMA, schema.name, {**deepcopy(dict(schema.schema)), **examples})

    def _register(self, kind: str, name: str, schema: Mapping[str, Any]) -> dict[str, str]:
        component = ResolvedComponent(name, kind, dict(schema), name)
        self.registry.register_on_missing(component)
        return component.ref

    def _get_request_for_media_type(self, serializer: Any, direction: Any = "request") -> Any:
        """Take a PATCH for what its serializer says: it is partial only if it was given as such."""
        if self.method != "PATCH" or not is_serializer(serializer):
            return super()._get_request_for_media_type(serializer, direction)  # type: ignore[no-untyped-call]
        component = self.resolve_serializer(force_instance(serializer), direction)
        return component.ref, bool(component.schema and component.schema.get("required"))

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        known = set(schema.get("properties", {}))
        if direction == "response":
            # A default is for what is left out of a request; an answer has it.
            always = {name for name, field in serializer.fields.items() if field.default is not empty}
            schema["required"] = sorted({*schema.get("required", []), *(always & known)})
        elif isinstance(serializer, KnownFieldsSerializer) and serializer.ignored:
            schema["propertyNames"] = {"enum": sorted(known | serializer.ignored)}
        elif isinstance(serializer, KnownFieldsSerializer):
            schema["additionalProperties"] = False
        if example := getattr(serializer, "example", None):
            hidden = {name for name in known if direction == "request" and serializer.fields[name].read_only}
            schema["examples"] = [{name: value for name, value in example.items() if name in known - hidden}]
        return schema

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        return _describe_default(schema | _describe_limits(field)) if schema and direction == "request" else schema

    def _get_serializer_field_meta(
        self, field: serializers.Field[Any, Any, Any, Any], direction: Any
    ) -> dict[str, Any]:
        meta: dict[str, Any] = super()._get_serializer_field_meta(field, direction)  # type: ignore[no-untyped-call]
        meta.pop("title", None)  # a model's verbose name, in the language of the request
        return meta

    # Errors

    def _describe_errors(self, operation: Mapping[str, Any]) -> dict[str, Any]:
        """Return the error responses by status: references to the shared ones, but for what is the operation's own."""
        own = defaultdict(list)
        for problem in self.described.problems:
            own[problem.error.status].append(problem)
        statuses = {400, 429, 503}  # everything can be a bad request, by its headers if by nothing else
        statuses |= {401, 403} if operation.get("security") else set()
        statuses |= {404} if "{" in self.path else set()
        statuses |= {413, 415} if "requestBody" in operation else set()
        return {
            str(status): self._describe_error(SHARED[status] if status in statuses else None, own[status])
            for status in sorted(statuses | own.keys())
        }

    def _describe_error(self, shared: SharedError | None, own: Sequence[Problem]) -> dict[str, Any]:
        shape: ErrorShape = getattr(self.view, "error_shape", ONE_SHAPE)
        reference = self._register(ResolvedComponent.SCHEMA, shape.name, shape.schema)
        reasons = [shared.description] if shared else []
        response: dict[str, Any] = {"description": " ".join([*reasons, *(f"{problem.when}." for problem in own)])}
        if shared and shared.headers:
            response["headers"] = shared.headers
        examples = {
            problem.when: {
                "value": shape.encode(
                    problem.error.status,
                    {
                        "code": problem.error.code,
                        "message": f"{problem.when}.",
                        "fields": dict(problem.fields),
                    },
                )
            }
            for problem in [*(shared.problems if shared else ()), *own]
        }
        response["content"] = {JSON: {"schema": reference, "examples": examples}}
        if own or not shared:
            return response
        name = shared.name if shape is ONE_SHAPE else f"{shape.name}{shared.name}"
        return self._register(ResolvedComponent.RESPONSE, name, response)

    # Names of components

    def _get_serializer_name(self, serializer: Any, direction: Any, bypass_extensions: bool = False) -> str:
        name: str = super()._get_serializer_name(serializer, direction, bypass_extensions)
        return re.sub(r"^Patched|Request(?=Request$)", "", name)

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}Page"


def _describe_filter(name: str, one: Any) -> dict[str, Any]:
    """Describe a filter by its kind, or by the JSON schema that it has itself, and by its label."""
    match one:
        case django_filters.OrderingFilter():
            choices = [value for value, _label in one.extra["choices"]]
            schema: dict[str, Any] = {"type": "string", "enum": choices, "default": "-created_at"}
        case django_filters.ChoiceFilter():
            schema = {"type": "string", "enum": sorted(value for value, _label in one.extra["choices"])}
        case django_filters.BooleanFilter():
            schema = {"type": "boolean"}
        case django_filters.UUIDFilter():
            schema = {"type": "string", "format": "uuid"}
        case _:
            schema = getattr(one, "schema", {"type": "string"})
    return {"in": "query", "name": name, "schema": schema, "description": str(one.label)}


def _describe_limits(field: Any) -> dict[str, Any]:
    """Describe what a field refuses and drf-spectacular does not say."""
    match field:
        case serializers.ListSerializer() | serializers.ListField():
            limits = {} if field.allow_empty else {"minItems": 1}
            longest = getattr(field, "max_length", None)
            return limits if longest is None else {**limits, "maxItems": longest}
        case serializers.CharField(allow_blank=False, read_only=False) | serializers.JSONField(binary=False):
            nothing = {} if field.allow_null or isinstance(field, serializers.CharField) else {"not": {"type": "null"}}
            return {"pattern": NOT_BLANK, **nothing}
    return {}


def _describe_default(schema: dict[str, Any]) -> dict[str, Any]:
    """Move a default into the description: openapi-typescript wants a field that has one to be given."""
    if "default" not in schema or schema["default"] in ("", None):
        return {name: value for name, value in schema.items() if name != "default"}
    default = f"{json.dumps(schema.pop('default'))} by default."
    return {**schema, "description": f"{schema.get('description', '')} {default.capitalize()}".strip()}


def inline_null(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Write the type null where it belongs; drf-spectacular makes a component of it. The last hook."""
    result["components"]["schemas"].pop("Null", None)
    inlined: dict[str, Any] = _inline_null(result)
    return inlined


def _inline_null(value: Any) -> Any:
    if isinstance(value, dict):
        if value == {"$ref": "#/components/schemas/Null"}:
            return {"type": "null"}
        return {name: _inline_null(inside) for name, inside in value.items()}
    return [_inline_null(inside) for inside in value] if isinstance(value, list) else value
