"""Who looks at the lists of memories, and what they show."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client


@pytest.fixture
def client(client: Client) -> Client:
    """Asks as htmx does."""
    client.defaults["HTTP_HX_REQUEST"] = "true"
    return client


def shown(response: Any) -> list[Any]:
    """The memories on a page of a list, in order."""
    assert response.status_code == 200, response.status_code
    return [row.memory for row in response.context["page"].rows]
