"""No secret becomes a memory, whoever proposes it, and whichever way (D4)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.core.errors import InvalidInput
from apps.core.text.commands import read_commands
from apps.memory.archive import list_important
from apps.memory.commands import Outcome, run_commands
from apps.memory.contexts import append_entry, create_context, record_context
from apps.memory.entries import create_memory
from apps.memory.judge.types import JudgedOperation, JudgedStatement, KnownMemory, Operation, Relation, Said, Verdict
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memories, create_atomic_memory, merge_memories, update_memory
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.transfer import Adoption, ForeignMemory, adopt_memories, import_memories
from apps.memory.types import AtomicDraft, KindName
from apps.memory.working import Variables, WorkingMemorySnapshot
from tests.support import judged
from tests.support.entries import entry, record
from tests.support.factories import SessionFactory

pytestmark = [pytest.mark.spec("D4"), pytest.mark.django_db]

NOW = datetime(2026, 11, 28, 9, tzinfo=UTC)
SECRET = "hunter2"
REFUSED = "Must not contain a secret: this looks like a password."


def _said(text: str = "") -> Said:
    return Said(None, None, NOW, text)


def _stored(user: User) -> str:
    """Everything that is remembered, as JSON."""
    rows = [kind.get_text(row) for kind in (LONG_TERM, ATOMIC) for row in kind.model.objects.filter(user=user)]
    return json.dumps(rows, ensure_ascii=False)


def test_of_a_models_statements_only_the_one_with_a_secret_is_left_out(user: User) -> None:
    contents = [
        "The user lives in York.",
        f"The user's wifi password is {SECRET}.",
        "用户的密码是 [密码]。",
        "用户喜欢茶。",
    ]
    judged.record(user, [JudgedStatement(content=content, source=_said()) for content in contents])
    assert {row.content for row in AtomicMemory.objects.filter(user=user)} == {
        "The user lives in York.",
        "用户喜欢茶。",
    }


def test_what_an_operation_or_a_merge_would_write_is_left_out_as_well(user: User) -> None:
    row, _new = create_atomic_memory(user=user, content="The user has a router.", now=NOW)
    known = [KnownMemory(KindName.ATOMIC, row.id, row.content, number=1)]
    merged = f"The user has a router with the password {SECRET}."
    refines = Verdict(Relation.REFINES, (1,), merged=merged)
    stated = JudgedStatement(content="The router is white.", source=_said(), verdict=refines)
    asked = JudgedOperation(operation=Operation.REPLACE, targets=(1,), source=_said(), text=merged)
    judged.record(user, [stated], operations=[asked], known=known)
    row.refresh_from_db()
    assert row.content == "The user has a router."
    assert SECRET not in _stored(user)


def test_an_operation_that_waits_shows_its_message_masked(user: User) -> None:
    row, _new = create_atomic_memory(user=user, content="The user has a router.", now=NOW)
    known = [KnownMemory(KindName.ATOMIC, row.id, row.content, number=1)]
    said = _said(f"The router is gone. My password is {SECRET}")
    asked = JudgedOperation(operation=Operation.END, targets=(1,), source=said, confidence=0.1)
    judged.record(user, [], operations=[asked], known=known)
    assert "[password]" in _stored(user)
    assert SECRET not in _stored(user)


def test_of_a_models_entries_only_the_one_with_a_secret_is_left_out(user: User) -> None:
    entries = [
        entry("home", "York"),
        entry("wifi password", SECRET),
        entry("logins", {"mail": {"password": SECRET}}),
        entry("api key", "[API key]"),
    ]
    record(user, *entries)
    assert [row.key for row in LongTermMemory.objects.filter(user=user)] == ["home"]


@pytest.mark.parametrize("text", [f"Remember that my password is {SECRET}.", f"记住，我的密码是 {SECRET}。"])
def test_a_secret_is_not_remembered_on_request_either(user: User, text: str) -> None:
    session = SessionFactory(user=user)
    said = Said(uuid4(), session.id, NOW, text)
    (result,) = run_commands(user=user, commands=read_commands(text), said=said, settings=get_settings(user), now=NOW)
    assert (result.status, result.texts) == (Outcome.SECRET, ())
    assert not AtomicMemory.objects.filter(user=user).exists()


def test_what_a_person_writes_by_hand_is_refused_with_the_field(user: User) -> None:
    long_term, _action = create_memory(user=user, category="fact", key="router", value="white", now=NOW)
    atomic, _new = create_atomic_memory(user=user, content="The router is white.", now=NOW)
    other, _new = create_atomic_memory(user=user, content="The router is old.", now=NOW)
    for call, field in (
        (lambda: create_memory(user=user, category="fact", key="password", value=SECRET, now=NOW), "value"),
        (lambda: create_atomic_memory(user=user, content=f"密码是 {SECRET}", now=NOW), "content"),
        (lambda: create_atomic_memories(user=user, drafts=[AtomicDraft(f"密码是 {SECRET}")], now=NOW), "content"),
        (lambda: create_atomic_memory(user=user, content="A router.", tags=[f"password={SECRET}"], now=NOW), "tags"),
        (
            lambda: update_memory(
                LONG_TERM, user=user, memory_id=long_term.id, changes={"value": {"password": SECRET}}, now=NOW
            ),
            "value",
        ),
        (
            lambda: merge_memories(
                ATOMIC, user=user, kept_id=atomic.id, merged_id=other.id, text=f"password: {SECRET}", now=NOW
            ),
            "content",
        ),
    ):
        with pytest.raises(InvalidInput) as refused:
            call()
        assert refused.value.fields == {field: [REFUSED]}
    assert SECRET not in _stored(user)


def test_rows_of_a_file_with_a_secret_are_left_out_and_told(user: User) -> None:
    secret, linked = str(uuid4()), str(uuid4())
    items = [
        {"id": secret, "category": "fact", "key": "wifi password", "value": SECRET},
        {"category": "fact", "key": "home", "value": "York"},
        {
            "id": linked,
            "category": "fact",
            "key": "wifi",
            "value": "old",
            "status": "superseded",
            "superseded_by": secret,
        },
    ]
    done = import_memories(user=user, kind=LONG_TERM, items=items, now=NOW)
    assert (done.created, [(row.number, row.reasons) for row in done.refused]) == (2, [(1, {"value": [REFUSED]})])
    assert LongTermMemory.objects.get(id=linked).superseded_by is None
    assert SECRET not in _stored(user)


def test_a_secret_from_another_store_is_skipped(user: User) -> None:
    memories = [
        ForeignMemory(uuid4(), content=f"My password is {SECRET}"),
        ForeignMemory(uuid4(), content="I like tea."),
    ]
    adopted = adopt_memories(user=user, memories=memories, operation=uuid4(), now=NOW)
    assert list(adopted.outcomes.values()) == [Adoption.SECRET, Adoption.ADOPTED]


def test_working_memory_leaves_no_secret_behind() -> None:
    values = {"wifi password": SECRET, "router": "white", "hitl_Login": {"fields": {"password": SECRET}}}
    snapshot = WorkingMemorySnapshot(
        uuid4(),
        f"the password is {SECRET}",
        Variables(values, dict.fromkeys(values, NOW.isoformat())),
        1,
        None,
        NOW,
        NOW,
        1,
    )
    assert [proposal.key for proposal in list_important(snapshot)] == ["router"]


def test_a_shared_context_takes_no_secret(user: User) -> None:
    context = create_context(user=user, title="Router", content="It is white.", now=NOW)
    for call, field in (
        (lambda: create_context(user=user, title="Login", content=f"password: {SECRET}", now=NOW), "content"),
        (lambda: append_entry(user=user, context_id=context.id, text=f"密码：{SECRET}", now=NOW), "text"),
    ):
        with pytest.raises(InvalidInput) as refused:
            call()
        assert refused.value.fields == {field: [REFUSED]}
    session = SessionFactory(user=user)
    made = record_context(
        user=user, title="Router", content=f"It is old. The password is {SECRET}.", session_id=session.id,
        message_id=None, now=NOW,  # type: ignore[arg-type]
    )  # fmt: skip
    assert made.content == "It is old. The password is [password]."
