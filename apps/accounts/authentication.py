"""Read who sends a request, what they may do, and whether they send too many.

Named in the settings, so it must not import DRF's views.
"""

from __future__ import annotations

from typing import Any

import knox.auth
import structlog
from drf_spectacular.authentication import SessionScheme
from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from redis.exceptions import RedisError
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle, UserRateThrottle

from apps.accounts.models import ApiToken, User
from apps.accounts.selectors import get_user
from apps.accounts.services.limits import Allowance, count_request
from apps.accounts.services.people import act_through, find_token, resolve_person
from apps.accounts.spaces import refuse_bound
from apps.accounts.types import Scope, allows
from apps.core.errors import Forbidden, Unauthenticated

logger = structlog.get_logger(__name__)


class TokenAuthentication(knox.auth.TokenAuthentication):
    """knox's reading of the header; `request.user` is the person meant (T4), `request.auth` the token."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        act_through("")  # whatever a request before it in this thread came through
        found = super().authenticate(request)
        if found is None:
            return None
        token: ApiToken = found[1]
        request._request.has_valid_token = True  # type: ignore[attr-defined]  # for who counts the others
        act_through(f"token:{token.token_key}")
        try:
            person = resolve_person(token=token, headers=request.headers)
        except Unauthenticated as error:
            raise AuthenticationFailed(error.message) from None
        return person, token

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        try:
            found = find_token(token.decode())
        except UnicodeError:
            found = None
        if found is None:
            raise AuthenticationFailed("Invalid token.")
        return found.user, found


class TokenScheme(KnoxTokenScheme):
    target_class = "apps.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        about = "An API token, from the memory panel or `manage.py create_token`."
        return {**super().get_security_definition(auto_schema), "description": about}


class BrowserScheme(SessionScheme):
    name = "browser"
    priority = 0  # before drf-spectacular's own

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        about = "The session of somebody who is logged in to this site. Changes need the CSRF token, too."
        return {**super().get_security_definition(auto_schema), "description": about}


class HasScope(BasePermission):
    """Ask for the scope that the method's operation names, and for `admin` where it has none.

    A token that is bound to a space is refused what concerns all that the person has (P5).
    A browser session has all scopes.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        token: Any = request.auth
        handler = getattr(view, (request.method or "").lower(), None)
        if token is None or handler is None:  # a method that there is not: 405, whoever asks
            return True
        described = getattr(handler, "operation", None)
        needed = Scope.READ if request.method == "OPTIONS" else Scope(described.scope) if described else Scope.ADMIN
        if not allows(token.scopes, needed):
            raise Forbidden(f"This needs a token with the scope {needed}.", fields={"scope": [str(needed)]})
        if described and described.unbound:
            refuse_bound(get_user(request))
        return True


class UserThrottle(UserRateThrottle):
    """DRF's count of each user's requests, `THROTTLE_RATE`. If the cache is away or full, nothing is refused."""

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except (RedisError, OSError) as error:
            logger.warning("throttle.cache_unavailable", cause=type(error).__name__)
            return True


class TokenThrottle(BaseThrottle):
    """429 with ``Retry-After`` over the limit; until then ``RateLimit`` tells how much of it is left.

    The headers are those of draft-ietf-httpapi-ratelimit-headers-10.
    """

    _allowance: Allowance | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, ApiToken):
            return True
        self._allowance = allowance = count_request(request.auth)
        if allowance is None:
            return True
        view.headers["RateLimit-Policy"] = f'"token";q={allowance.limit.requests};w={allowance.limit.seconds}'
        view.headers["RateLimit"] = f'"token";r={allowance.remaining};t={allowance.reset_seconds}'
        return not allowance.is_exceeded

    def wait(self) -> float | None:
        return self._allowance.reset_seconds if self._allowance else None
