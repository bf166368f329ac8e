"""What every operation of the OpenAPI document has in common; named in the settings."""

from __future__ import annotations

from typing import Any

ERROR: dict[str, Any] = {
    "type": "object",
    "description": "`code` is stable and machine-readable, `message` is human-readable, and `fields` describes the "
    "errors by field.",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "fields"],
            "additionalProperties": False,
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "fields": {"type": "object", "additionalProperties": True},
            },
        }
    },
}


def describe_errors(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Give every operation the one error shape for all that is not described otherwise (SPEC, API).

    A post-processing hook of drf-spectacular.
    """
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Error"] = ERROR
    reference = {"$ref": "#/components/schemas/Error"}
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = {
                "description": "An error.",
                "content": {"application/json": {"schema": reference}},
            }
    return result
