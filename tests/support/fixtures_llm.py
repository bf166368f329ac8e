"""Fixtures for tests that need a chat model server; loaded by the tests' conftest as a plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.scripted_model import ScriptedModel


@pytest.fixture(scope="session")
def _scripted_model_server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def scripted_model(_scripted_model_server: ScriptedModel) -> Iterator[ScriptedModel]:
    """A running `ScriptedModel` with nothing recorded and nothing queued; one server for the whole run."""
    _scripted_model_server.reset()
    yield _scripted_model_server
    _scripted_model_server.reset()
