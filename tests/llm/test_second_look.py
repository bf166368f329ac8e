"""A second look before memories end, by very small models: how often they are right (docs/models.md).

The figures are printed, to be read: at this size they are no better than chance, and no goal is set for them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from apps.extraction.verdicts import confirm_ends
from apps.memory.judge.types import JudgedStatement, KindName, KnownMemory, Relation, Said, Verdict

pytestmark = [pytest.mark.llm, pytest.mark.long, pytest.mark.timeout(600)]

ENDS = (
    ("I live in Leeds.", "I moved to York last week."),
    ("I drink coffee every morning.", "I gave up coffee two weeks ago."),
    ("I am planning a trip to Oslo in December.", "The Oslo trip is off."),
    ("我住在苏州。", "我搬到杭州了。"),
    ("我有一辆车。", "我把车卖了。"),
    ("我对花生过敏。", "医生说我对花生不过敏了。"),
)
# What is remembered and what the person said since: in the first half of the pairs it ends the memory.
STAYS = (
    ("I live in Leeds.", "My sister moved to York last week."),
    ("I have a cat.", "We got a dog as well."),
    ("I work as a nurse.", "What does a nurse earn in Norway?"),
    ("我住在苏州。", "我朋友搬到杭州了。"),
    ("我喜欢喝茶。", "今天好累啊。"),
    ("我对花生过敏。", "他说：“我再也不吃花生了。”"),
)


@pytest.mark.django_db
def test_how_often_it_is_right(llama_url: str, settings: Any) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.CHAT_MODEL = llama_url, "", ""
    pairs = [*ENDS, *STAYS]
    known = [
        KnownMemory(KindName.ATOMIC, uuid4(), text, number=number)
        for number, (text, _said) in enumerate(pairs, start=1)
    ]
    statements = [
        JudgedStatement(
            content=said,
            source=Said(message_id=None, session_id=None, said_at=datetime(2026, 1, 1, tzinfo=UTC), text=said),
            verdict=Verdict(relation=Relation.CONTRADICTS, targets=(number,)),
        )
        for number, (_text, said) in enumerate(pairs, start=1)
    ]
    answers = [statement.confirmed for statement in confirm_ends(statements, [], known=known)[0]]
    ends, stays = answers[: len(ENDS)], answers[len(ENDS) :]
    print(f"ends confirmed: {sum(ends)} of {len(ends)}; others refused: {stays.count(False)} of {len(stays)}")
    assert len(answers) == len(pairs)
