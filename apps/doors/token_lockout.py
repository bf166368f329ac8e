"""Lock out who guesses tokens, at every door that takes one (`apps.accounts.services.limits`)."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.deprecation import MiddlewareMixin

from apps.accounts.services.limits import count_refusal, digest_token, find_wait, is_known_here, note_valid
from apps.core.access import get_client_network
from apps.doors.openai.base import too_many_refused

# Where codes and refresh tokens are sent, in the body; they answer 400 or 401 to a wrong one.
OAUTH_DOORS = frozenset({"/oauth/token", "/oauth/revoke", "/token"})


class TokenLockoutMiddleware(MiddlewareMixin):
    """Answer 429 to an address that sent too many wrong tokens in this minute; valid tokens are let through."""

    def __call__(self, request: HttpRequest) -> Any:
        if self.async_mode:
            return self.__acall__(request)
        attempt = _read_attempt(request)
        if attempt is None:
            return self.get_response(request)
        if refusal := attempt.refuse():
            return refusal
        response: Any = self.get_response(request)
        attempt.learn(response)
        return response

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        attempt = _read_attempt(request)
        if attempt is None:
            return await self.get_response(request)  # type: ignore[misc, no-any-return]
        if not attempt.is_known and (refusal := await sync_to_async(attempt.refuse)()):
            return refusal
        response: HttpResponseBase = await self.get_response(request)  # type: ignore[misc]
        if attempt.has_learnt(response):
            await sync_to_async(attempt.learn)(response)
        return response


class _Attempt:
    """One request with something that could be guessed."""

    def __init__(self, request: HttpRequest, *, door: str, digest: str, refused_with: tuple[int, ...]) -> None:
        self._request, self._refused_with = request, refused_with
        self._address, self._digest, self._door = get_client_network(request), digest, door
        self.is_known = bool(digest) and is_known_here(digest)

    def refuse(self) -> HttpResponse | None:
        if self.is_known:
            return None
        wait = find_wait(address=self._address, digest=self._digest, door=self._door)
        if wait is None:
            return None
        if self._door == "token":
            return too_many_refused(self._request, wait)
        body = {"error": "temporarily_unavailable", "error_description": "Too many refused requests. Try again later."}
        return JsonResponse(body, status=429, headers={"Retry-After": str(wait)})

    def has_learnt(self, response: HttpResponseBase) -> bool:
        """Whether there is anything to keep in mind."""
        return self._was_refused(response) or (was_valid(self._request) and not self.is_known)

    def learn(self, response: HttpResponseBase) -> None:
        if self._was_refused(response):
            count_refusal(address=self._address, digest=self._digest, door=self._door)
        elif was_valid(self._request) and self._digest:
            note_valid(self._digest)

    def _was_refused(self, response: HttpResponseBase) -> bool:
        return response.status_code in self._refused_with and not was_valid(self._request)


def was_valid(request: HttpRequest) -> bool:
    """Whether the token of the request was found to be one."""
    return bool(getattr(request, "has_valid_token", False))


def _read_attempt(request: HttpRequest) -> _Attempt | None:
    if request.path_info in OAUTH_DOORS:
        return _Attempt(request, door="oauth", digest="", refused_with=(400, 401))
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        return None
    return _Attempt(request, door="token", digest=digest_token(token.strip()), refused_with=(401,))
