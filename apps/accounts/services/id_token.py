"""Verifying who another service says somebody is (OpenID Connect Core 1.0, 3.1.3.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jwt

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a key that only the service has; never the client's secret, and never none."""

LEEWAY_SECONDS = 30


class BadIdToken(Exception):
    """The token does not prove anything."""


def verify_id_token(text: str, *, keys: Mapping[str, Any], issuer: str, client_id: str, nonce: str) -> dict[str, Any]:
    """Return the token's claims; `BadIdToken` where its signature, issuer, audience, time or nonce is not right.

    `keys`: the service's JSON Web Key Set.
    """
    try:
        header = jwt.get_unverified_header(text)
        key = _find_key(jwt.PyJWKSet.from_dict(dict(keys)), header.get("kid"))
        claims: dict[str, Any] = jwt.decode(
            text,
            key=key,
            algorithms=list(ALGORITHMS),
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadIdToken(type(error).__name__) from None
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if (several or "azp" in claims) and claims.get("azp") != client_id:
        raise BadIdToken("It was issued to another client.")
    if claims.get("nonce") != nonce:
        raise BadIdToken("It does not belong to this login.")
    if not isinstance(claims["sub"], str) or not claims["sub"]:
        raise BadIdToken("It names nobody.")
    return claims


def _find_key(keys: jwt.PyJWKSet, key_id: str | None) -> jwt.PyJWK:
    found = [key for key in keys.keys if key.key_id == key_id] if key_id else list(keys.keys)
    if len(found) != 1:
        raise ValueError("There is no such key.")
    return found[0]
