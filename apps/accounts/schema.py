"""The scopes that operations need, in the OpenAPI document; named in the settings."""

from __future__ import annotations

from typing import Any

from django.urls import resolve

from apps.accounts.permissions import get_needed_scope
from apps.accounts.types import Scope

TOKEN, APP = "token", "app"


def describe_scopes(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Name the scope in the security requirement of each operation, where OpenAPI 3.1 has roles for such schemes.

    A post-processing hook of drf-spectacular.
    """
    for path, operations in result["paths"].items():
        route = resolve(path).view_name  # a parameter's place, ``{id}``, is a string as well
        for method, operation in operations.items():
            needed = str(get_needed_scope(route, method))
            if needed == Scope.ADMIN:  # which no connected application gets
                operation["security"] = [way for way in operation.get("security", []) if APP not in way]
            for requirement in operation.get("security", []):
                for name in requirement.keys() & {TOKEN, APP}:
                    requirement[name] = [needed]
    return result
