"""mcp's own client, unmodified, finds its way through OAuth by itself, and asks for more when it needs more (T2)."""

from __future__ import annotations

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from apps.accounts.models import User
from apps.core.db import in_database
from apps.doors.models import ConnectedApp
from tests.support.http_server import HttpServer
from tests.support.oauth import CALLBACK, answer_consent, make_browser

pytestmark = pytest.mark.spec("T2")


class Storage:
    """Where the client keeps what it has got."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Who clicks on the page that the client opens: at first "Read only", and then whatever is proposed."""

    def __init__(self, window: httpx2.Client) -> None:
        self.window = window
        self.asked: list[str] = []
        self.answer: dict[str, str] = {}

    async def open(self, address: str) -> None:
        path = address.removeprefix(str(self.window.base_url).rstrip("/"))
        choose = None if self.asked else "read"
        self.asked.append(path)
        self.answer = await anyio.to_thread.run_sync(lambda: answer_consent(self.window, path, choose=choose))

    async def hand_over(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(self.answer)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_connects_by_itself_and_asks_for_more_when_it_needs_it(
    http_server: HttpServer, mode: str
) -> None:
    mei = await in_database(User.objects.create_user, "mei")
    window = await in_database(make_browser, http_server.url, mei)
    person, storage = Person(window), Storage()
    url = f"{http_server.url}/mcp"
    metadata = OAuthClientMetadata.model_validate({"client_name": "Agent", "redirect_uris": [CALLBACK]})
    provider = OAuthClientProvider(url, metadata, storage, person.open, person.hand_over)
    with window:
        async with (
            httpx2.AsyncClient(auth=provider, timeout=200) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            assert len(person.asked) == 1
            assert storage.tokens.scope == "read"
            assert len((await client.list_tools()).tools) == 7
            added = await client.call_tool("add_memory", {"content": "Mei plays the cello."})
            assert not added.is_error
            assert len(person.asked) == 2
            assert storage.tokens.scope == "read write"
    assert f"resource={httpx2.URL(url)}".replace(":", "%3A").replace("/", "%2F") in person.asked[0]
    connection = await in_database(ConnectedApp.objects.select_related("application", "user").get)
    assert (connection.user, str(connection)) == (mei, "Agent")
