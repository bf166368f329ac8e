"""A log line for each request that tells what happened to which ID, and never what was said (R3)."""

from __future__ import annotations

from django.http import HttpRequest
from django_structlog.middlewares import RequestMiddleware


class RequestLogMiddleware(RequestMiddleware):
    """Logs each request without its query string, where searches and previewed messages stand."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"
