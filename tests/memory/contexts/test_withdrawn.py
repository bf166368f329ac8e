"""Entries of a shared context that were withdrawn, and came back (X3, L7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message, Role, Session
from apps.core.errors import Conflict
from apps.core.text.grounding import Traces
from apps.memory.changes.undo import undo_operation, undo_together
from apps.memory.contexts import (
    HOLDER,
    append_entry,
    create_context,
    delete_context,
    get_context,
    list_session_contexts,
    record_context,
)
from apps.memory.models import Change, ContextEntry, SharedContext
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("X3", "L7")]

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


@pytest.fixture
def case(session: Session) -> SharedContext:
    context = create_context(user=session.user, title="合同纠纷", content="c", session_id=session.id, now=NOW)
    for text in ("a", "b", "c"):
        append_entry(user=session.user, context_id=context.id, text=text, now=NOW)
    return context


def withdraw(context: SharedContext, *texts: str, user: User | None = None) -> UUID | None:
    ids = list(ContextEntry.objects.filter(context=context, text__in=texts).values_list("id", flat=True))
    made = {"entry": ids}
    return undo_together(user=user or context.user, operations=[], made=made, now=LATER).operation


def read(context: SharedContext) -> list[str]:
    entries = [entry.text for entry in get_context(context.user, context.id).entries.all()]
    if context.session_id:
        (snapshot,) = list_session_contexts(context.user, context.session_id)
        assert [entry.text for entry in snapshot.entries] == entries
    return entries


def test_only_what_was_withdrawn_is_gone_and_it_returns_to_its_place(case: SharedContext) -> None:
    operation = withdraw(case, "b")
    assert read(case) == ["a", "c"]
    assert get_context(case.user, case.id).updated_at == LATER
    append_entry(user=case.user, context_id=case.id, text="d", now=LATER)
    undo_operation(user=case.user, operation=operation, now=LATER)
    assert read(case) == ["a", "b", "c", "d"]
    with pytest.raises(Conflict, match="already undone"):
        undo_operation(user=case.user, operation=operation, now=LATER)


def test_a_case_of_which_all_was_withdrawn_is_still_there(case: SharedContext) -> None:
    withdraw(case, "a", "b", "c")
    assert read(case) == []


def test_what_is_withdrawn_or_anothers_is_not_withdrawn(case: SharedContext) -> None:
    assert withdraw(case, "a", user=UserFactory.create()) is None
    assert read(case) == ["a", "b", "c"]
    withdraw(case, "b")
    assert withdraw(case, "b") is None
    assert Change.objects.filter(kind="entry").count() == 1


def test_it_takes_no_room_and_comes_back_only_where_there_is_room(case: SharedContext) -> None:
    append_entry(user=case.user, context_id=case.id, text="x" * 65_000, now=NOW)
    operation = withdraw(case, "x" * 65_000)
    later = append_entry(user=case.user, context_id=case.id, text="y" * 1_000, now=LATER)
    with pytest.raises(Conflict, match="no longer has room"):
        undo_operation(user=case.user, operation=operation, now=LATER)
    assert read(later) == ["a", "b", "c", "y" * 1_000]
    withdraw(case, "y" * 1_000)
    undo_operation(user=case.user, operation=operation, now=LATER)
    assert read(case) == ["a", "b", "c", "x" * 65_000]


def test_it_is_not_added_again_for_its_message_nor_recorded_in_the_same_words(
    session: Session, case: SharedContext
) -> None:
    user = session.user
    messages = [
        Message.objects.create(session=session, user=user, role=Role.USER, content="m", position=position)
        for position in (1, 2)
    ]

    def add() -> None:
        append_entry(user=user, context_id=case.id, text="Wire it.", message_id=messages[0].id, now=NOW)

    add()
    withdraw(case, "Wire it.")
    add()
    recorded: dict[str, Any] = {"user": user, "session_id": session.id, "now": LATER, "title": "合同纠纷"}
    assert record_context(content="Other", message_id=messages[0].id, **recorded) == case
    assert record_context(content="wire it", message_id=messages[1].id, **recorded) == case
    assert read(case) == ["a", "b", "c"]


@pytest.mark.spec("L6")
def test_a_deletion_leaves_nothing_of_it_in_the_record(case: SharedContext) -> None:
    append_entry(user=case.user, context_id=case.id, text="My locker is 47.", now=NOW)
    withdraw(case, "a", "My locker is 47.")
    HOLDER.remove(user=case.user, traces=Traces(["My locker is 47."]), now=LATER)
    kept = Change.objects.filter(kind="entry", before__isnull=False)
    assert [change.before["text"] for change in kept] == ["a"]  # type: ignore[index]
    delete_context(user=case.user, context_id=case.id, now=LATER)
    assert not kept.all().exists()
    assert Change.objects.filter(kind="entry", action="delete").count() == 0
