"""What a judge is shown: everything while it fits, else the nearest, never by a floor (A3)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.core.errors import ModelUnavailable
from apps.memory.changes.records import changed_by
from apps.memory.entries import create_memory
from apps.memory.judge.known import list_known_memories
from apps.memory.judge.types import KnownMemory
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import Change, LongTermMemory
from apps.memory.types import AtomicDraft, KindName
from tests.support.factories import UserFactory
from tests.support.judged import NOW, learn, say

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("A3"),
    pytest.mark.long_except(
        "test_everything_is_shown_while_it_fits_oldest_first_with_dates",
        "test_only_what_is_active_and_ones_own_is_shown",
        "test_what_its_owner_wrote_or_edited_is_marked",
    ),
]

# A budget of some thirty short memories.
SMALL = 1_200


def fill(user: User, *contents: str) -> None:
    with changed_by(origin=Change.Origin.EXTRACTION, actor=None):
        drafts = [
            AtomicDraft(content=content, timestamp=NOW - timedelta(days=number))
            for number, content in enumerate(contents, start=1)
        ]
        create_atomic_memories(user=user, drafts=drafts, now=NOW)


def read(user: User, *said: str, budget: int = 100_000, message_ids: Any = ()) -> list[KnownMemory]:
    return list_known_memories(user, said=said, message_ids=message_ids, budget=budget)


def texts(known: list[KnownMemory]) -> list[str]:
    return [memory.text for memory in known]


def test_everything_is_shown_while_it_fits_oldest_first_with_dates(user: User) -> None:
    fill(user, "The user likes tea.", "The user lives in Leeds.")
    learn(user, "用户下周去奥斯陆。", days_ago=0.5, event_start=NOW, event_end=NOW + timedelta(days=1))
    create_memory(user=user, category="fact", key="hobbies", value=["chess", "sailing"], now=NOW)
    known = read(user, "hello")
    assert [(memory.number, memory.kind, memory.text) for memory in known] == [
        (1, KindName.ATOMIC, "The user lives in Leeds."),
        (2, KindName.ATOMIC, "The user likes tea."),
        (3, KindName.ATOMIC, "用户下周去奥斯陆。"),
        (4, KindName.LONG_TERM, "hobbies: chess"),
        (5, KindName.LONG_TERM, "hobbies: sailing"),
    ]
    assert [memory.item for memory in known] == [None, None, None, 0, 1]
    assert (known[0].said_at, known[2].event) == (NOW - timedelta(days=2), NOW)


def test_only_what_is_active_and_ones_own_is_shown(user: User) -> None:
    learn(user, "The user works at Bosch.", days_ago=9)
    learn(user, "The user left Bosch.", "contradicts", "The user works at Bosch.", days_ago=8)
    learn(user, "The user may move.", confidence=0.3)
    fill(UserFactory(), "The user likes tea.")
    assert texts(read(user, "Bosch, moving, tea")) == ["The user left Bosch."]


def test_long_term_memories_of_the_message_itself_are_not_shown(user: User) -> None:
    message = say(user, "I live in York")
    for key, cause in (("home", message), ("job", None)):
        memory, _action = create_memory(user=user, category="fact", key=key, value="…", now=NOW)
        LongTermMemory.objects.filter(id=memory.id).update(message=cause)
    assert texts(read(user, "I live in York", message_ids=[message.id])) == ["job: …"]


def test_what_its_owner_wrote_or_edited_is_marked(user: User) -> None:
    fill(user, "The user likes tea.")
    with changed_by(origin=Change.Origin.API, actor=user):
        create_memory(user=user, category="fact", key="diet", value="vegan", now=NOW)
    assert [memory.by_owner for memory in read(user, "x")] == [False, True]


FILLER = [f"The user once read a book about number {number}." for number in range(120)]


@pytest.mark.spec("K9")
def test_of_many_the_nearest_of_every_sentence_are_shown(user: User) -> None:
    targets = ["用户对虾过敏。", "The user's neighbour is called Marc.", "The user's passport expires in March 2027."]
    fill(user, *FILLER, *targets)
    long = "Nothing much today. " * 30 + "Marc moved out. My passport is renewed. 我又能吃虾了。"
    known = read(user, long, budget=SMALL)
    assert set(targets) <= set(texts(known))
    assert len(known) < 40
    assert [memory.number for memory in known] == list(range(1, len(known) + 1))


@pytest.mark.parametrize(
    "content",
    ["The user lives in Leeds.", "用户在腾讯工作。", "The user is married to Ines.", "The user takes ibuprofen daily."],
)
def test_keyed_attributes_are_shown_whatever_the_message_is_about(user: User, content: str) -> None:
    fill(user, *FILLER, content)
    assert content in texts(read(user, "Boxes everywhere, what a week!", budget=SMALL))


@pytest.mark.spec("K9")
def test_without_an_embedder_keywords_choose(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(user, *FILLER, "The user's neighbour is called Marc.")

    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise ModelUnavailable("away", fields={"reason": "away"})

    monkeypatch.setattr("apps.memory.vectors.queries.embed_whole", refuse)
    assert "The user's neighbour is called Marc." in texts(read(user, "Marc moved out.", budget=SMALL))


def test_long_term_memories_come_first_and_leave_half_of_the_budget(user: User) -> None:
    for number in range(60):
        create_memory(user=user, category="fact", key=f"shelf {number}", value=f"box {number}", now=NOW)
    create_memory(user=user, category="fact", key="dentist", value="Dr Lund", now=NOW)
    fill(user, *FILLER, "The user's neighbour is called Marc.")
    known = read(user, "Marc went to my dentist.", budget=SMALL)
    assert {"dentist: Dr Lund", "The user's neighbour is called Marc."} <= set(texts(known))
