"""An OpenID Connect provider over real HTTP on loopback: discovery, authorization code with PKCE, signed ID tokens."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "jiyi", "a secret of this client"


def _make_key(key_id: str) -> tuple[rsa.RSAPrivateKey, dict[str, Any]]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    return key, {**public, "kid": key_id, "use": "sig", "alg": "RS256"}


@dataclass
class OidcProvider:
    """Who is logged in there (`claims`), what tests change of its ID tokens (`spoil`), and what it was asked."""

    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "248289761001"})
    userinfo: dict[str, Any] = field(default_factory=dict)
    spoil: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
    sign_with_other_key: bool = False
    denies: bool = False
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._key, self._public = _make_key("current")
        self._other_key, _ = _make_key("current")
        self._codes: dict[str, dict[str, str]] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider._answer(self, parse_qs(urlsplit(self.path).query))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                provider._answer(self, parse_qs(body))

            def log_message(self, *_arguments: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> OidcProvider:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, sent: dict[str, list[str]]) -> None:
        path = urlsplit(handler.path).path
        self.asked.append(path)
        given = {name: values[0] for name, values in sent.items()}
        if path == "/authorize":
            handler.send_response(302)
            handler.send_header("Location", self._authorize(given))
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        answers: dict[str, Callable[[], tuple[int, Any]]] = {
            "/.well-known/openid-configuration": lambda: (200, self._describe()),
            "/jwks": lambda: (200, {"keys": [self._public]}),
            "/token": lambda: self._exchange(given),
            "/userinfo": lambda: (200, {"sub": self.claims["sub"], **self.userinfo}),
        }
        status, body = answers[path]()
        content = json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _describe(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/jwks",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def _authorize(self, given: dict[str, str]) -> str:
        """Where the browser goes back to; whoever asks is logged in here already."""
        assert given["client_id"] == CLIENT_ID
        assert given["response_type"] == "code"
        assert given["code_challenge_method"] == "S256"
        assert {"openid", "email"} <= set(given["scope"].split())
        if self.denies:
            return f"{given['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': given['state']})}"
        code = secrets.token_urlsafe(16)
        self._codes[code] = given
        return f"{given['redirect_uri']}?{urlencode({'code': code, 'state': given['state']})}"

    def _exchange(self, given: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self._codes.pop(given.get("code", ""), None)
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or given.get("redirect_uri") != asked["redirect_uri"]
            or challenge != asked["code_challenge"]
            or (given.get("client_id"), given.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET)
        ):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        told = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked.get("nonce")}
        claims = self.spoil({**told, **self.claims})
        key = self._other_key if self.sign_with_other_key else self._key
        token = jwt.encode(claims, key, algorithm="RS256", headers={"kid": "current"})
        return 200, {"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "id_token": token}
