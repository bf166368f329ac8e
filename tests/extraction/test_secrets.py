"""Extraction is shown no secret, and keeps none that a model writes all the same (D4)."""

from __future__ import annotations

import pytest

from apps.accounts.services.people import update_settings
from apps.extraction.run import extract
from apps.memory.models import AtomicMemory
from tests.extraction.conftest import Answering
from tests.extraction.test_run import claim, say
from tests.support.factories import SessionFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("D4")]

TEXT = "I moved to York. The password of my router is hunter2."


@pytest.mark.parametrize("masked", [True, False])
def test_a_statement_with_a_secret_is_left_out_and_the_others_are_kept(answering: Answering, masked: bool) -> None:
    session = SessionFactory()
    update_settings(user=session.user, changes={"memory.mask_secrets": masked})
    message = say(session, TEXT, reply="Noted, hunter2 it is.")
    statements = ["The user moved to York.", "The password of the user's router is hunter2."]
    statements.append("The password of the user's router is [password].")
    model = answering({"memories": [{"content": content, "about": 1} for content in statements]})
    extract(claim())
    prompt = model.requests[0].messages[-1].content
    assert ("The password of my router is [password]." in prompt) is masked
    assert [memory.content for memory in AtomicMemory.objects.all()] == ["The user moved to York."]
    message.refresh_from_db()
    assert message.content == TEXT
