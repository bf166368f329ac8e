"""The real model server, started once for these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.llama import run_llama


@pytest.fixture(scope="session")
def llama_url() -> Iterator[str]:
    """The base URL of a running llama.cpp server."""
    with run_llama() as base_url:
        yield base_url
