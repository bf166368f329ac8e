"""The scopes that operations need, in the OpenAPI document; named in the settings."""

from __future__ import annotations

from typing import Any

from django.urls import resolve

from apps.accounts.permissions import get_needed_scope

BEARER = "token"


def describe_scopes(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Name the scope in the security requirement of each operation, where OpenAPI 3.1 has roles for such schemes.

    A post-processing hook of drf-spectacular.
    """
    for path, operations in result["paths"].items():
        route = resolve(path).view_name  # a parameter's place, ``{id}``, is a string as well
        for method, operation in operations.items():
            for requirement in operation.get("security", []):
                if BEARER in requirement:
                    requirement[BEARER] = [str(get_needed_scope(route, method))]
    return result
