"""Django's middleware, with its hooks run in the event loop instead of in a thread each.

In an async request Django sends every hook of a `MiddlewareMixin` to a thread and back: 22 changes of thread a turn,
a quarter of the time that a turn adds to the model's. None of these hooks waits for anything, but for the few that
`needs_thread` names.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from csp import middleware as csp
from csp.constants import HEADER as CONTENT_SECURITY_POLICY
from django.conf import settings
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest, HttpResponseBase
from django.middleware import clickjacking, common, csrf, locale, security
from django.utils.deprecation import MiddlewareMixin
from django_prometheus import middleware as prometheus
from django_structlog import middlewares as structlog

from apps.core.tracing import span


class Inline(MiddlewareMixin):
    """Mixed into a middleware, runs its hooks where the request is."""

    def needs_thread(self, request: HttpRequest) -> bool:
        """Whether `process_response` may wait, for the database say."""
        return False

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        response: Any = None
        if process_request := getattr(self, "process_request", None):
            response = process_request(request)
        response = response or await self.get_response(request)  # type: ignore[misc]
        if process_response := getattr(self, "process_response", None):
            if self.needs_thread(request):
                return await sync_to_async(process_response)(request, response)  # type: ignore[no-any-return]
            response = process_response(request, response)
        return response  # type: ignore[no-any-return]


class PrometheusBeforeMiddleware(Inline, prometheus.PrometheusBeforeMiddleware):
    pass


class SecurityMiddleware(Inline, security.SecurityMiddleware):
    """Django's, and two headers that it does not know: what pages may ask of the device, and who may embed answers."""

    def process_response(self, request: HttpRequest, response: Any) -> Any:
        response.headers.setdefault("Permissions-Policy", settings.PERMISSIONS_POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return super().process_response(request, response)


class ContentSecurityPolicyMiddleware(Inline, csp.CSPMiddleware):
    """What the browser may do with an answer: with a page as `project.content_security` says, with the rest nothing."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault(CONTENT_SECURITY_POLICY, settings.CONTENT_SECURITY_POLICY_OF_NO_PAGE)
            return response
        return super().process_response(request, response)

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> csp.PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if not report_only:
            policies = settings.CONTENT_SECURITY_POLICY_BY_PATH
            prefixes = [prefix for prefix in policies if request.path_info.startswith(prefix)]
            parts.config = policies[max(prefixes, key=len)] if prefixes else parts.config
        return parts


class NoStoreMiddleware(Inline):
    """Nothing personal stays in a cache on the way to the person: what says nothing of caching is not kept."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class UnkeptBodyMiddleware(Inline):
    """Refuses a request whose body could not be kept (`apps.core.asgi`), as any other error is answered."""

    def process_request(self, request: HttpRequest) -> None:
        if error := getattr(request, "unkept_body", None):
            raise error


class SessionMiddleware(Inline, sessions.SessionMiddleware):
    def needs_thread(self, request: HttpRequest) -> bool:
        return request.session.modified  # it is saved then


class LocaleMiddleware(Inline, locale.LocaleMiddleware):
    pass


class CommonMiddleware(Inline, common.CommonMiddleware):
    pass


class CsrfViewMiddleware(Inline, csrf.CsrfViewMiddleware):
    async def process_view(  # type: ignore[override]  # Django adapts either
        self, request: Any, callback: Any, args: Any, kwargs: Any
    ) -> Any:
        return super().process_view(request, callback, args, kwargs)


class AuthenticationMiddleware(Inline, auth.AuthenticationMiddleware):
    pass


class MessageMiddleware(Inline, messages.MessageMiddleware):
    def needs_thread(self, request: HttpRequest) -> bool:
        storage: Any = getattr(request, "_messages", None)
        return storage is not None and (storage.used or storage.added_new)  # it may be kept in the session then


class XFrameOptionsMiddleware(Inline, clickjacking.XFrameOptionsMiddleware):
    pass


class PrometheusAfterMiddleware(Inline, prometheus.PrometheusAfterMiddleware):
    async def process_view(self, request: Any, view: Any, args: Any, kwargs: Any) -> Any:
        return super().process_view(request, view, args, kwargs)


class RequestLogMiddleware(structlog.RequestMiddleware):
    """A log line and a span for each request: what happened, without the query string, which may hold searches (R3)."""

    async def __acall__(self, request: HttpRequest) -> Any:
        method = request.method or ""
        parent = request.headers.get("traceparent", "")
        with span(method, kind="server", parent=parent, http__request__method=method) as current:
            self.prepare(request)
            response = await self.get_response(request)  # type: ignore[misc]
            self.handle_response(request, response)
            if request.resolver_match is not None:
                current.rename(f"{method} {request.resolver_match.route}")
                current.set(http__route=request.resolver_match.route)
            current.set(http__response__status_code=response.status_code)
            if response.status_code >= 500:
                current.fail(str(response.status_code))
        return response

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"
