"""Turning what `openapi.py` modules say into the OpenAPI document. Named in the settings."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import drf_spectacular.openapi
from drf_spectacular.plumbing import ResolvedComponent, force_instance, is_serializer
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.mixins import ListModelMixin

from apps.core.openapi.errors import list_components, list_errors, list_shared_statuses
from apps.core.openapi.types import NOT_BLANK, Component, Examples, Operation
from apps.core.serializers import KnownFieldsSerializer

SECURITY = {"knoxApiToken": "token", "oauth2": "app", "cookieAuth": "browser"}
"""What drf-spectacular calls the ways to authenticate, and what we do."""

_SECURITY_TEXTS = {
    "token": "An API token, from the memory panel or `manage.py create_token`.",
    "app": "An application that somebody has connected by OAuth 2.1 (authorization code with PKCE).",
    "browser": "The session of somebody who is logged in to this site. Changes need the CSRF token, too.",
}


class AutoSchema(drf_spectacular.openapi.AutoSchema):
    """Describes an operation as the ``openapi.py`` beside its view says; one that is not there is guessed."""

    @property
    def described(self) -> Operation | None:
        """What is said about the operation that is under way."""
        module = type(self.view).__module__.rpartition(".")[0] + ".openapi"
        if find_spec(module) is None:
            return None
        operation: Operation | None = import_module(module).OPERATIONS.get(f"{self.method} {self.path}")
        return operation

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation and self.described:
            _add_examples(operation, self.described)
            operation["responses"] |= list_errors(list_shared_statuses(operation), self.described)
        return operation

    def get_operation_id(self) -> str:
        return self.described.id if self.described else super().get_operation_id()

    def get_summary(self) -> str | None:
        return self.described.summary if self.described else None

    def get_description(self) -> str:  # type: ignore[override]
        return self.described.description if self.described else ""

    def get_tags(self) -> list[str]:
        return [self.described.tag] if self.described else super().get_tags()

    def get_override_parameters(self) -> list[Any]:
        return list(self.described.parameters) if self.described else super().get_override_parameters()

    def get_request_serializer(self) -> Any:
        if self.described is None:
            return super().get_request_serializer()
        body = self.described.body
        return body and {body.media_type: self._resolve(body.schema)}

    def get_response_serializers(self) -> Any:
        if self.described is None:
            return super().get_response_serializers()
        return {
            (status, answer.media_type): OpenApiResponse(
                self._resolve(answer.schema), answer.description or HTTPStatus(status).phrase
            )
            for status, answer in self.described.list_answers()
        }

    def get_filter_backends(self) -> list[Any]:
        """Only lists are filtered, not what else can be done at their address."""
        is_list = self.method == "GET" and isinstance(self.view, ListModelMixin)
        return super().get_filter_backends() if is_list else []

    def _resolve(self, schema: Any) -> Any:
        """Register what is referred to; copies, as post-processing changes what it gets."""
        if not isinstance(schema, Component):
            return deepcopy(schema) if isinstance(schema, dict) else schema
        component = ResolvedComponent(schema.name, ResolvedComponent.SCHEMA, deepcopy(schema.schema), schema.name)
        self.registry.register_on_missing(component)
        return component.ref

    # Bodies

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

    # Names of components

    def _get_serializer_name(self, serializer: Any, direction: Any, bypass_extensions: bool = False) -> str:
        name: str = super()._get_serializer_name(serializer, direction, bypass_extensions)
        return re.sub(r"^Patched|Request(?=Request$)", "", name)

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}Page"


def _describe_limits(field: Any) -> dict[str, Any]:
    """What a field refuses and drf-spectacular does not say."""
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


def _add_examples(operation: dict[str, Any], described: Operation) -> None:
    if described.body:
        content = operation["requestBody"]["content"]
        content[described.body.media_type] |= _wrap_example(described.body.example)
    for status, answer in described.list_answers():
        content = operation["responses"][str(status)]["content"]
        content[answer.media_type] |= _wrap_example(answer.example)


def _wrap_example(example: Any) -> dict[str, Any]:
    if isinstance(example, Examples):
        return {"examples": {name: {"value": value} for name, value in example.items()}}
    return {"example": example}


def finish(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Add what the errors of the operations refer to, and name the ways to authenticate. The last hook."""
    components = result["components"]
    for kind, named in list_components().items():
        components[kind] = dict(sorted({**components.get(kind, {}), **named}.items()))
    components["schemas"].pop(_NULL, None)
    schemes = components["securitySchemes"]
    components["securitySchemes"] = {
        name: {**schemes[guessed], "description": _SECURITY_TEXTS[name]}
        for guessed, name in SECURITY.items()
        if guessed in schemes
    }
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["security"] = [
                {SECURITY[name]: scopes for name, scopes in way.items()} for way in operation.get("security", [])
            ]
    finished: dict[str, Any] = _inline_null(result)
    return finished


_NULL = "Null"
"""The component that drf-spectacular makes for a choice that can be null, which has a type of its own."""


def _inline_null(value: Any) -> Any:
    if isinstance(value, dict):
        if value == {"$ref": f"#/components/schemas/{_NULL}"}:
            return {"type": "null"}
        return {name: _inline_null(inside) for name, inside in value.items()}
    return [_inline_null(inside) for inside in value] if isinstance(value, list) else value
