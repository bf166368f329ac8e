"""A model that judges perfectly: what it says is what happens, whatever else is remembered."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.db import transaction

from apps.memory.judge.known import list_known_memories
from apps.memory.models import AtomicMemory
from apps.memory.vectors.memories import fill_missing
from tests.judged.annotated import foresee, hold, read_cases, read_stored, remember_background, remember_known
from tests.support.factories import UserFactory
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(240)]

LANGUAGES = ("en", "zh")
# Together with the rest about three times of what a prompt holds.
MANY = 270


@pytest.fixture
def model(settings: Any, scripted_model: ScriptedModel) -> ScriptedModel:
    settings.OPENAI_BASE_URL, settings.CHAT_MODEL = scripted_model.base_url, "scripted"
    settings.EMBEDDING_MODEL = "local"
    return scripted_model


def hold_all(language: str, model: ScriptedModel) -> None:
    """Hold every conversation beside the background, each from the same beginning; fail for all that differ."""
    user = UserFactory()
    remember_background(user, language)
    fill_missing()
    wrong: list[str] = []
    asked = missed = 0
    for case in read_cases(language):
        start = transaction.savepoint()
        remember_known(case, user)
        fill_missing()
        before = read_stored(user)
        lines = hold(case, user, model)
        expected, stored = foresee(case, before), read_stored(user)
        missing = [text for text in case.list_targets() if text not in lines]
        asked, missed = asked + len(case.list_targets()), missed + len(missing)
        wrong += [f"{case.name}: not shown: {text}" for text in missing]
        wrong += [
            f"{case.name}: {name}: missing {show(there, here)}, too much {show(here, there)}"
            for name in ("atomic", "entries", "waiting")
            if (here := getattr(stored, name)) != (there := getattr(expected, name))
        ]
        transaction.savepoint_rollback(start)
    assert not wrong, f"shown {asked - missed} of {asked}:\n" + "\n".join(wrong)
    assert asked > 70


def show(these: Any, others: Any) -> list[Any]:
    """What is in one and not in the other, of sets or of mappings."""
    if isinstance(these, dict):
        return [pair for pair in these.items() if others.get(pair[0]) != pair[1]]
    return sorted(these - others)


@pytest.mark.spec("A3", "L3")
@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_model_says_is_what_is_stored(language: str, model: ScriptedModel) -> None:
    hold_all(language, model)


@pytest.mark.long
@pytest.mark.spec("A3")
@pytest.mark.parametrize("language", LANGUAGES)
def test_of_hundreds_of_memories_those_it_judges_are_shown(language: str, model: ScriptedModel) -> None:
    """Everything that the people of all conversations are known for, in one store that no prompt holds."""
    user = UserFactory()
    cases = read_cases(language)
    remember_background(user, language, many=MANY, more=[text for case in cases for text in case.known])
    asked = missed = 0
    for case in cases:
        said = [*case.said, *(text for spoken in case.earlier for text in spoken)]
        known = list_known_memories(user, said=said, message_ids=[], budget=settings.EXTRACTION_KNOWN_TOKENS)
        targets = [
            text for text in case.list_targets() if AtomicMemory.objects.filter(user=user, content=text).exists()
        ]
        asked, missed = asked + len(targets), missed + len(set(targets) - {memory.text for memory in known})
    assert asked > 60
    assert missed <= 0.05 * asked, f"{missed} of {asked} were not shown"
