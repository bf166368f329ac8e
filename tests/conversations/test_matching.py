"""Which stored messages a client's history is made of (T3): pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.conversations.matching import MAX_COMPARED, Branch, StoredMessage, follow
from apps.conversations.types import RecordedMessage

pytestmark = pytest.mark.spec("T3")


def key(position: int, version: int = 0) -> uuid.UUID:
    return uuid.UUID(int=position * 10 + version)


def store(*texts: str, replaced: Iterable[int] = (), from_history: Iterable[int] = ()) -> list[StoredMessage]:
    """Messages of the user and replies by turns, at positions from 1 on."""
    rows = []
    for position, text in enumerate(texts, start=1):
        reply = position % 2 == 0
        rows.append(
            StoredMessage(
                id=key(position),
                role="assistant" if reply else "user",
                content=text,
                place=(position - 1, 1) if reply else (position, 0),
                status="replaced" if position in replaced else "complete",
                reply_to=key(position - 1) if reply else None,
                from_history=position in from_history,
            )
        )
    return rows


def other_reply(position: int, text: str, *, status: str = "replaced") -> StoredMessage:
    """Another reply to the message at `position`."""
    return StoredMessage(
        id=key(position, 5), role="assistant", content=text, place=(position, 1), status=status, reply_to=key(position)
    )


def say(*texts: str) -> list[RecordedMessage]:
    return [RecordedMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(texts)]


def read(branch: Branch) -> tuple[uuid.UUID | None, set[uuid.UUID], set[uuid.UUID]]:
    return branch.asked, set(branch.restored), set(branch.replaced)


def test_a_new_message_at_the_end_changes_nothing():
    branch = follow(say("a", "b", "c", "d"), "e", store("a", "b", "c", "d"), whole=False)
    assert read(branch) == (None, set(), set())
    assert branch.matched == (key(1), key(2), key(3), key(4))
    assert branch.is_known


def test_a_history_without_its_beginning_is_known_too():
    branch = follow(say("c", " d\r\n"), "e", store("a", "b", "c", "d"), whole=False)
    assert (branch.matched, read(branch)) == ((key(3), key(4)), (None, set(), set()))


def test_what_a_client_leaves_out_in_the_middle_stays():
    branch = follow(say("a", "b", "e", "f"), "g", store("a", "b", "c", "d", "e", "f"), whole=False)
    assert read(branch) == (None, set(), set())


def test_the_same_message_again_asks_for_another_reply():
    branch = follow(say("a", "b"), "c", store("a", "b", "c", "d", "e", "f"), whole=False)
    assert read(branch) == (key(3), set(), {key(5), key(6)})


def test_another_message_in_its_place_replaces_what_followed():
    branch = follow(say("a", "b"), "C", store("a", "b", "c", "d"), whole=False)
    assert read(branch) == (None, set(), {key(3), key(4)})


def test_going_back_to_an_earlier_version_restores_it():
    stored = [*store("a", "b", "c", "d", "C", "D", replaced=(3, 4))]
    branch = follow(say("a", "b", "c", "d"), "e", stored, whole=False)
    assert read(branch) == (None, {key(3), key(4)}, {key(5), key(6)})
    back = [*store("a", "b", "c", "d", "C", "D", "e", "f", replaced=(5, 6))]
    branch = follow(say("a", "b", "C", "D"), "g", back, whole=False)
    assert read(branch) == (None, {key(5), key(6)}, {key(7), key(8), key(3), key(4)})


def test_going_back_to_an_earlier_reply_restores_it():
    stored = [*store("a", "b"), other_reply(1, "B")]
    assert read(follow(say("a", "B"), "c", stored, whole=False)) == (None, {key(1, 5)}, {key(2)})


def test_what_comes_from_elsewhere_is_not_stored_yet():
    branch = follow(say("a", "b", "x", "y"), "c", store("a", "b"), whole=False)
    assert branch.matched == (key(1), key(2), None, None)
    assert read(branch) == (None, set(), set())


def test_examples_prove_nothing():
    stored = store("x", "y", "a", "b", from_history=(1, 2))
    branch = follow(say("x", "y"), "c", stored, whole=False)
    assert (branch.is_known, read(branch)) == (False, (None, set(), set()))


@pytest.mark.parametrize(("status", "asked"), [("failed", key(1)), ("complete", key(1))])
def test_a_message_without_a_reply_is_asked_again(status: str, asked: uuid.UUID):
    (row,) = store("a")
    stored = [StoredMessage(row.id, row.role, row.content, row.place, status)]
    assert follow([], "a", stored, whole=False).asked == asked
    assert follow([], "b", stored, whole=False).asked is None


def test_an_empty_history_means_the_beginning_only_for_a_client_that_sends_everything():
    stored = store("a", "b", "a", "b")
    assert read(follow([], "a", stored, whole=False)) == (None, set(), set())
    assert read(follow([], "a", stored, whole=True)) == (key(1), set(), {key(3), key(4)})
    assert read(follow([], "A", stored, whole=True)) == (None, set(), {key(1), key(2), key(3), key(4)})


def test_a_message_under_way_is_never_replaced():
    pending = StoredMessage(key(3), "user", "c", (3, 0), "pending")
    assert read(follow(say("a", "b"), "C", [*store("a", "b"), pending], whole=False)) == (None, set(), set())


def test_a_very_long_history_is_compared_at_its_end():
    texts = [f"text {number}" for number in range(2 * MAX_COMPARED)]
    branch = follow(say(*texts), "new", store(*texts), whole=False)
    assert branch.count == MAX_COMPARED
    assert (len(branch.matched), read(branch)) == (len(texts), (None, set(), set()))


words = st.lists(st.sampled_from("abc"), min_size=1, max_size=8)


@given(history=words, stored=words, message=st.sampled_from("abc"), whole=st.booleans())
def test_nothing_is_both_in_the_conversation_and_replaced(
    history: list[str], stored: list[str], message: str, whole: bool
):
    rows = store(*stored)
    branch = follow(say(*history), message, rows, whole=whole)
    matched = [item for item in branch.matched if item]
    assert len(branch.matched) == len(history)
    assert len(set(matched)) == len(matched)
    contents = {row.id: (row.role, row.content) for row in rows}
    assert [contents[item] for item in matched] == [
        (line.role, line.content) for line, item in zip(say(*history), branch.matched, strict=True) if item
    ]
    places = {row.id: row.place for row in rows}
    assert [places[item] for item in matched] == sorted(places[item] for item in matched)
    assert not {*matched, branch.asked} & set(branch.replaced)
