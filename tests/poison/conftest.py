from __future__ import annotations

from typing import Any

import pytest

from tests.support.scripted_model import ScriptedModel


@pytest.fixture
def model(scripted_model: ScriptedModel, settings: Any) -> ScriptedModel:
    """The model that answers, in turns and in the background."""
    settings.OPENAI_BASE_URL, settings.CHAT_MODEL = scripted_model.base_url, "scripted"
    settings.EMBEDDING_MODEL = "local"
    return scripted_model
