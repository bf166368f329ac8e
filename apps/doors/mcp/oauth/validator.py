"""What django-oauth-toolkit leaves open: which resources there are, who may still be spoken for, what is connected."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest
from django.utils import timezone
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2.rfc6749 import errors

from apps.doors.mcp.oauth.services import (
    Grant,
    RefreshToken,
    drop_dead_connections,
    get_base_url,
    list_resources,
    name_family,
    record_connection,
    revoke_issued_for,
)

BASE_URL = "jiyi.base_url"
"""Among the headers of oauthlib's requests; no client can send one of this name."""


class Backend(OAuthLibCore):
    """Passes on where this server is."""

    def extract_headers(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().extract_headers(request), BASE_URL: get_base_url(request)}


class Validator(OAuth2Validator):
    """Issues tokens for resources of ours and active people only, and keeps the list of connected applications."""

    def _validate_resource_uris(self, request: Any, resources: list[str]) -> None:
        super()._validate_resource_uris(request, resources)
        for resource in resources:
            if resource not in list_resources(request.headers[BASE_URL]):
                raise errors.CustomOAuth2Error(
                    error="invalid_target", description="This server has no such resource.", request=request
                )

    def _create_authorization_code(self, request: Any, code: Any, expires: Any = None) -> Any:
        self._validate_resource_uris(request, list(getattr(request, "resource", None) or []))
        return super()._create_authorization_code(request, code, expires)

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        valid = super().validate_code(client_id, code, client, request, *args, **kwargs)
        if not Grant.objects.filter(code=code).exists():
            revoke_issued_for(code, application=client)
        return bool(valid and request.user.is_active)

    def invalidate_authorization_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> None:
        try:
            super().invalidate_authorization_code(client_id, code, request, *args, **kwargs)
        except errors.InvalidGrantError:  # another request has used it at the same time
            revoke_issued_for(code, application=request.client)
            raise

    def validate_refresh_token(self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        valid = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return bool(valid and request.user.is_active)

    def _save_bearer_token(self, token: dict[str, Any], request: Any, *args: Any, **kwargs: Any) -> None:
        scopes = token["scope"].split()
        record_connection(user=request.user, application=request.client, scopes=scopes, now=timezone.now())
        try:
            if not self._save_parallel_token(token, request):
                super()._save_bearer_token(token, request, *args, **kwargs)
        except ObjectDoesNotExist:  # the refresh token was deleted meanwhile: somebody has disconnected the application
            raise errors.InvalidGrantError(request=request) from None

    def _save_parallel_token(self, token: dict[str, Any], request: Any) -> bool:
        """Save a second pair of tokens for a refresh token that was used a moment ago; False where it was not.

        The toolkit would answer with the first pair, of which only digests are kept.
        """
        used = getattr(request, "refresh_token_instance", None)
        # Its use locks it: a request that came at the same time waits here until the other has its tokens.
        used = used and RefreshToken.objects.select_for_update().get(pk=used.pk)
        if used is None or used.revoked is None:
            return False
        self._check_and_set_request_resource(request)
        expires = timezone.now() + timedelta(seconds=token["expires_in"])
        access_token = self._create_access_token(expires, request, token)
        self._create_refresh_token(request, token["refresh_token"], access_token, used)
        return True

    def _create_refresh_token(self, request: Any, code: str, access_token: Any, previous: Any) -> Any:
        created = super()._create_refresh_token(request, code, access_token, previous)
        if previous is None and request.grant_type == "authorization_code":
            created.token_family = name_family(request.code)
            created.save(update_fields=["token_family"])
        return created

    def revoke_token(self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any) -> None:
        super().revoke_token(token, token_type_hint, request, *args, **kwargs)
        if request.client is not None:
            drop_dead_connections(application=request.client)
