from __future__ import annotations

from typing import Any

import pytest

from tests.support.scripted_model import MODEL, ScriptedModel


@pytest.fixture
def model(scripted_model: ScriptedModel, settings: Any) -> ScriptedModel:
    """The scripted model server as the product's chat model."""
    settings.OPENAI_API_KEY = "test"
    settings.OPENAI_BASE_URL = scripted_model.base_url
    settings.CHAT_MODEL = MODEL
    return scripted_model
