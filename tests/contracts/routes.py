"""Every route of the product, read from the URL conf, so that one added later is in these tests or fails them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.views import APIView

METHODS = ("get", "post", "put", "patch", "delete")
GUARDED_VIEWS = ("GuardedView",)
# Not REST: what they answer is tested with them (tests/accounts/test_guarded.py, tests/doors).
OTHER_DOORS = ("McpView",)


@dataclass(frozen=True)
class Route:
    """A URL pattern. `template` has ``{name}`` for each of its `parameters`; `methods` is empty outside the API."""

    name: str
    template: str
    parameters: tuple[str, ...]
    methods: tuple[str, ...]

    def path(self, **values: object) -> str:
        """The path with its parameters filled in."""
        return self.template.format(**values)


def list_routes() -> list[Route]:
    """All routes but the admin site's, which has tests of its own."""
    return list(_walk(get_resolver().url_patterns, prefix="/"))


def list_api_calls() -> list[tuple[Route, str]]:
    """Every method of every route of the API that needs an account."""
    return [(route, method) for route in list_routes() for method in route.methods]


def name_call(value: object) -> str:
    """The ID of a test's parameter."""
    return value.template if isinstance(value, Route) else str(value)


def _walk(patterns: list[Any], *, prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.app_name != "admin":
                yield from _walk(pattern.url_patterns, prefix=prefix + str(pattern.pattern))
        else:
            yield _read(pattern, prefix=prefix)


def _read(pattern: URLPattern, *, prefix: str) -> Route:
    template = prefix + str(pattern.pattern)
    names = tuple(pattern.pattern.converters)
    for name, converter in pattern.pattern.converters.items():
        for kind in ("path", "str", "uuid"):
            template = template.replace(f"<{kind}:{name}>", "{" + name + "}")
        assert "{" + name + "}" in template, f"an unknown converter: {converter}"
    view = getattr(pattern.callback, "cls", None)
    is_api = isinstance(view, type) and issubclass(view, APIView) and view.__name__ not in GUARDED_VIEWS + OTHER_DOORS
    methods = tuple(method for method in METHODS if is_api and hasattr(view, method))
    return Route(name=pattern.name or template, template=template, parameters=names, methods=methods)
