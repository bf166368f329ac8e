from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from apps.accounts.services.people import create_token
from tests.support.http_server import ApiClient, HttpServer


@pytest.fixture
def client(http_server: HttpServer, alice: ApiClient) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, unmodified but for its base URL, for the user alice."""
    token = create_token(user=alice.user)
    with openai.OpenAI(base_url=f"{http_server.url}/v1", api_key=token, max_retries=0) as client:
        yield client
