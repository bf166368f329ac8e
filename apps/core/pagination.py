"""Pages of lists over REST, in an order that neither repeats nor skips any row."""

from __future__ import annotations

from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.core.errors import InvalidInput

MAX_OFFSET = 2**31 - 1


class Pagination(LimitOffsetPagination):
    """``?limit=&offset=`` with limit 1–200, 50 by default; anything else is a 400, not a guess."""

    default_limit = 50
    max_limit = 200
    default_offset = 0

    def get_limit(self, request: Request) -> int:
        return read_int(request, "limit", default=self.default_limit, minimum=1, maximum=self.max_limit)

    def get_offset(self, request: Request) -> int:
        return read_int(request, "offset", default=self.default_offset, minimum=0, maximum=MAX_OFFSET)

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        limit = {"type": "integer", "minimum": 1, "maximum": self.max_limit, "default": self.default_limit}
        offset = {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0}
        described = (("limit", "How many results a page has at most.", limit), ("offset", "How many to skip.", offset))
        return [
            {"name": name, "in": "query", "required": False, "description": description, "schema": schema}
            for name, description, schema in described
        ]

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["count", "next", "previous", "results"],
            "properties": {
                "count": {"type": "integer", "description": "How many there are on all pages."},
                "next": {**address, "description": "The address of the next page; null on the last one."},
                "previous": {**address, "description": "The address of the page before; null on the first one."},
                "results": schema,
            },
        }


def read_int(request: Request, name: str, *, default: int, minimum: int, maximum: int) -> int:
    """Return a whole number from the query string, `default` when absent; 400 when out of range or no number."""
    raw = request.query_params.get(name)
    if raw is None:
        return default
    # isdecimal alone lets in Arabic-Indic digits and the like, which int() reads too: harmless, but not a contract.
    if not (raw.isascii() and raw.isdecimal() and minimum <= int(raw[:20]) <= maximum):
        raise InvalidInput(
            f"{name} must be a whole number from {minimum} to {maximum}.",
            fields={name: [f"Must be a whole number from {minimum} to {maximum}."]},
        )
    return int(raw)


class StableOrderingFilter(django_filters.OrderingFilter):
    """Order equal rows by ID, so that pages neither repeat nor skip any."""

    def __init__(self, **options: Any) -> None:
        super().__init__(label="With a minus, descending.", **options)

    def filter(self, qs: QuerySet[Any], value: list[str] | None) -> QuerySet[Any]:
        return qs.order_by(*map(self.get_ordering_value, value), "-id") if value else qs


class TimesFilter(django_filters.FilterSet):
    """Order by when rows were made or last changed."""

    ordering = StableOrderingFilter(fields=("created_at", "updated_at"))
