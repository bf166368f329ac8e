"""An application that connects by OAuth, and the browser of the person who lets it."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from django.conf import settings
from django.test import Client

from apps.accounts.models import User

CALLBACK = "http://localhost:33418/callback"


def make_browser(base_url: str, user: User) -> httpx2.Client:
    """A browser in which somebody is logged in. It follows no redirect: where one leads is what is looked at."""
    session = Client()
    session.force_login(user)
    cookie = session.cookies[settings.SESSION_COOKIE_NAME].value
    return httpx2.Client(base_url=base_url, cookies={settings.SESSION_COOKIE_NAME: cookie}, timeout=200)


@dataclass
class App:
    """A public client as mcp's own are, with one PKCE secret for each authorization."""

    http: httpx2.Client
    client_id: str = ""
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def register(self, **metadata: Any) -> Any:
        """Register with these metadata, and remember the ID."""
        given = {"client_name": "Notebook", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
        response = self.http.post("/oauth/register", json=given | metadata)
        self.client_id = response.json().get("client_id", "")
        return response

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def authorization(self, **own: str | None) -> str:
        """The address to which the application sends the person; None leaves a parameter out."""
        parameters = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": CALLBACK,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "state": "xyz",
            "scope": "read write",
            "resource": f"{str(self.http.base_url).rstrip('/')}/mcp",
        }
        asked = {name: value for name, value in (parameters | own).items() if value is not None}
        return f"/oauth/authorize?{urlencode(asked)}"

    def get_code(self, browser: httpx2.Client, *, choose: str | None = None, **own: str | None) -> str:
        """Let the person allow it, and return the code that comes back."""
        answer = answer_consent(browser, self.authorization(**own), choose=choose)
        assert answer["state"] == "xyz"
        return answer["code"]

    def redeem(self, code: str, **own: str) -> Any:
        """Turn a code into tokens."""
        body = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": CALLBACK,
            "client_id": self.client_id,
            "code_verifier": self.verifier,
        }
        return self.http.post("/oauth/token", data=body | own)

    def refresh(self, token: str, **own: str) -> Any:
        """Turn a refresh token into new tokens."""
        body = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.client_id}
        return self.http.post("/oauth/token", data=body | own)

    def revoke(self, token: str) -> Any:
        """Give a token back."""
        return self.http.post("/oauth/revoke", data={"token": token, "client_id": self.client_id})

    def connect(self, browser: httpx2.Client, *, choose: str | None = None, **own: str | None) -> dict[str, Any]:
        """Do all of it, and return the tokens."""
        tokens: dict[str, Any] = self.redeem(self.get_code(browser, choose=choose, **own)).raise_for_status().json()
        return tokens


def read_form(page: str) -> dict[str, str]:
    """The fields that a browser would send with the page's first form, without its buttons."""
    form = page[page.index('class="consent"') :]
    found = {}
    for tag in re.findall(r"<input[^>]*>", form[: form.index("</form>")]):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if attributes.get("type") != "radio" or " checked" in tag:
            found[attributes["name"]] = unescape(attributes.get("value", ""))
    return found


def answer_consent(
    browser: httpx2.Client, address: str, *, choose: str | None = None, **changed: str
) -> dict[str, str]:
    """Open the page, click, and return the parameters with which the browser is sent back to the application."""
    page = browser.get(address)
    assert page.status_code == 200, (page.status_code, page.headers.get("location"), page.text[-600:])
    fields = read_form(page.text) | changed | {"allow": "on"}
    if choose:
        fields["scope"] = choose
    sent = browser.post(address, data=fields, headers={"Referer": f"{browser.base_url}"})
    assert sent.status_code == 302, sent.text[-600:]
    location = sent.headers["location"]
    assert location.startswith(CALLBACK), location
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
