"""Everything exported restores into an empty account without loss (R2), and what a file says is never trusted."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import ApiToken, Setting, Space, User
from apps.accounts.services.erasure import erase_user
from apps.accounts.services.export import Restored, restore_person, write_export
from apps.accounts.services.people import create_token, find_token
from apps.accounts.services.personal_data import list_tables
from apps.accounts.spaces import create_space
from apps.chat.models import Turn
from apps.conversations import queue
from apps.conversations.models import Message, Session, Work
from apps.conversations.sessions import create_session
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory
from apps.memory.judge.types import PendingVerdict, Reason, Relation, Target
from apps.memory.kinds import ATOMIC
from apps.memory.models import AtomicMemory, Change, LongTermMemory, Status
from apps.memory.types import KindName
from apps.memory.vectors import memories as embeddings
from apps.profile.models import ProfileVersion, UserProfile
from tests.contracts.world import SECRET, fill_everything
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("R2"),
    pytest.mark.long_except("test_nothing_of_another_person_is_referred_to"),
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)

# Vectors: background work makes them again.
MADE_AGAIN = {"conversation_embeddings", "atomic_embedding", "long_term_embedding"}

OF_THIS_INSTALLATION = {
    *("past_import", "past_import_item", "past_import_part", "accounts_loginsession", "model_call"),
    *("webhook", "webhook_delivery"),  # whose secrets are not exported
}

# Columns that are not as they were, beside the numbers of rows that have no ID of their own.
VOLATILE = {"accounts_setting": {"updated_at"}, "work": {"place", "claim", "lease_until", "worker"}}


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(queue, "send_task", names.append)
    monkeypatch.setattr(embeddings, "send_task", names.append)
    return names


def export(user: User) -> dict[str, Any]:
    file = io.BytesIO()
    write_export(user=user, file=file, now=NOW)
    document: dict[str, Any] = json.loads(file.getvalue())
    return document


def rows_of(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "", {"user": document["user"]}
    yield "", {"digests": document["digests"]}
    for table, rows in document["data"].items():
        for row in rows:
            yield table, row


def restore(user: User, document: Mapping[str, Any]) -> Restored:
    copied = json.loads(json.dumps(document))
    with transaction.atomic():
        restored = restore_person(user=user, read=lambda: rows_of(copied), now=timezone.now())
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    return restored


def comparable(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """The rows by table, without what is not as it was."""
    numbered = {table.name for table in list_tables() if table.model._meta.pk.get_internal_type() == "BigAutoField"}
    shown: dict[str, list[str]] = {}
    for name, rows in document["data"].items():
        if name in MADE_AGAIN | OF_THIS_INSTALLATION:
            continue
        left_out = VOLATILE.get(name, set()) | ({"id"} if name in numbered else set())
        told = [
            {key: "me" if key == "actor_id" and value else value for key, value in row.items() if key not in left_out}
            for row in rows
            if not (name == "work" and row["kind"] == "embed")
        ]
        shown[name] = sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in told)
    return shown


def list_columns(owner: User) -> list[Any]:
    """Every column of the memories, what is derived included."""
    models = (LongTermMemory, AtomicMemory)
    return [list(model.objects.filter(user=owner).order_by("pk").values()) for model in models]


@pytest.fixture
def document(alice: ApiClient) -> dict[str, Any]:
    """Everything of a person with rows in every table."""
    fill_everything(alice)
    memory, _action = create_memory(user=alice.user, category="fact", key="city", value="Leeds", now=NOW)
    create_memory(user=alice.user, category="fact", key="city", value="York", now=timezone.now())
    made = Change.objects.filter(object_id=memory.id).earliest("id")
    assert made.operation
    Message.objects.filter(user=alice.user).update(is_collected=True, emotion="happy")
    return export(alice.user)


def test_after_an_erasure_everything_is_back_under_its_own_ids(
    alice: ApiClient, document: dict[str, Any], sent: list[str]
) -> None:
    before, columns = comparable(document), list_columns(alice.user)
    assert {name for name, rows in document["data"].items() if not rows} <= OF_THIS_INSTALLATION
    left = sorted(row["message_id"] for row in document["data"]["work"] if row["kind"] == "extract")
    erase_user(user=alice.user)
    assert not any(comparable(export(alice.user)).values())
    sent.clear()
    restore(alice.user, document)
    assert comparable(export(alice.user)) == before
    assert restore(alice.user, document).restored == {}, "again it does nothing"
    assert comparable(export(alice.user)) == before
    assert list_columns(alice.user) == columns
    # Vectors are made again, and nothing is extracted again.
    work = Work.objects.filter(user=alice.user)
    assert sorted(str(row.message_id) for row in work.filter(kind="extract")) == left
    said = Message.objects.filter(user=alice.user, status="complete")
    assert set(work.filter(kind="embed").values_list("message_id", flat=True)) == set(said.values_list("id", flat=True))
    assert set(work.filter(kind="embed").values_list("recorded", flat=True)) == {True}
    assert {"apps.extraction.tasks.embed", "apps.memory.tasks.embed_memories"} <= set(sent)


def test_in_another_account_ids_that_are_taken_are_others_and_all_links_follow(
    alice: ApiClient, bob: ApiClient, document: dict[str, Any]
) -> None:
    restore(bob.user, document)
    assert comparable(export(alice.user)) == comparable(document)
    mine = export(bob.user)
    counts = {name: len(rows) for name, rows in comparable(document).items()}
    del counts["forgotten_key"]  # digests of another account
    found = {name: len(rows) for name, rows in comparable(mine).items()}
    assert found.pop("forgotten_key") == 0
    assert found == counts
    ids = {row["id"] for rows in document["data"].values() for row in rows if isinstance(row.get("id"), str)}
    assert not [old for old in ids if old in json.dumps(mine)]
    old, new = LongTermMemory.objects.filter(user=bob.user, key="city").order_by("status")[::-1]
    assert (old.superseded_by_id, old.value, new.value) == (new.id, "Leeds", "York")
    turn = Turn.objects.filter(user=bob.user).first()
    assert turn is not None
    assert turn.assistant_message.user == bob.user
    assert restore(bob.user, document).restored == {}
    operation = Change.objects.filter(user=bob.user, object_id=new.id).earliest("id").operation
    undo_operation(user=bob.user, operation=operation, now=timezone.now())
    assert LongTermMemory.objects.get(user=bob.user, key="city", status="active").value == "Leeds"


def test_a_pending_memory_still_ends_what_it_would_have_ended() -> None:
    """Its proposal names the memory by ID, inside JSON, and what is left of another by a link."""
    mine, other = UserFactory.create(), UserFactory.create()
    ended = AtomicMemory(user=mine, content="用户住在利兹。", normalized_content="", terms=[], term_count=0)
    ended.save()
    verdict = PendingVerdict(Reason.UNSURE, Relation.CONTRADICTS, [Target(KindName.ATOMIC, ended.id, ended.content)])
    pending = AtomicMemory.objects.create(
        user=mine, content="用户住在约克。", status=Status.PENDING, proposal=verdict.to_json(),
        normalized_content="", terms=[], term_count=0,
    )  # fmt: skip
    AtomicMemory.objects.create(
        user=mine, content="用户在利兹长大。", left_of=ended, normalized_content="", terms=[], term_count=0
    )
    restore(other, export(mine))
    copied = AtomicMemory.objects.get(user=other, content=pending.content)
    left = AtomicMemory.objects.get(user=other, content="用户在利兹长大。")
    assert left.left_of == AtomicMemory.objects.get(user=other, content=ended.content)
    accept_memory(ATOMIC, user=other, memory_id=copied.id, now=timezone.now())
    assert AtomicMemory.objects.get(user=other, content=ended.content).status == Status.SUPERSEDED
    assert AtomicMemory.objects.get(id=ended.id).status == Status.ACTIVE


def test_what_the_person_has_stays_and_what_clashes_is_left_out(alice: ApiClient, document: dict[str, Any]) -> None:
    other = UserFactory.create()
    create_memory(user=other, category="fact", key="city", value="Bath", now=NOW)
    Setting.objects.create(user=other, key="memory.timezone", value="Asia/Tokyo")
    profile = UserProfile.objects.create(user=other, background="mine", version=1)
    restored = restore(other, document)
    assert LongTermMemory.objects.get(user=other, key="city", status="active").value == "Bath"
    assert Setting.objects.get(user=other).value == "Asia/Tokyo"
    assert list(UserProfile.objects.filter(user=other)) == [profile]
    assert not ProfileVersion.objects.filter(user=other).exists()
    assert restored.left_out["user_profile"] == 1
    assert restored.left_out["profile_version"] == len(document["data"]["profile_version"])


def test_nothing_of_another_person_is_referred_to(alice: ApiClient, bob: ApiClient) -> None:
    theirs = Session.objects.create(user=bob.user)
    said = Message.objects.create(session=theirs, user=bob.user, role="user", content=SECRET, position=1)
    session_id, message_id = str(uuid.uuid4()), str(uuid.uuid4())
    message = {"role": "user", "content": "x", "position": 1, "create_time": NOW.isoformat(), "status": "complete"}
    document = {
        "user": {"id": bob.user.pk},
        "digests": "",
        "data": {
            "chat_session": [{"id": session_id, "title": "mine", "user_id": bob.user.pk}],
            "conversation": [
                {**message, "id": str(uuid.uuid4()), "session_id": str(theirs.id)},
                {**message, "id": message_id, "session_id": session_id, "reply_to_id": str(said.id)},
                {
                    **message,
                    "id": str(uuid.uuid4()),
                    "session_id": session_id,
                    "summarized_by_id": message_id,
                    "position": 2,
                },
            ],
        },
    }
    restored = restore(alice.user, document)
    assert Session.objects.get(id=session_id).user == alice.user
    assert [row.content for row in Message.objects.filter(user=bob.user)] == [SECRET]
    mine = Message.objects.filter(user=alice.user).order_by("position")
    assert [(row.reply_to_id, row.summarized_by_id and str(row.summarized_by_id)) for row in mine] == [
        (None, None),
        (None, message_id),
    ]
    assert restored.left_out == {"conversation": 1}


MESSAGE = {
    "id": "11111111-1111-4111-8111-111111111111",
    "session_id": "22222222-2222-4222-8222-222222222222",
    "role": "user",
    "content": "hi",
    "create_time": NOW.isoformat(),
    "status": "complete",
    "position": 1,
}
MEMORY = {
    "id": "33333333-3333-4333-8333-333333333333",
    "category": "fact",
    "key": "k",
    "value": "v",
    "status": "active",
    "created_at": NOW.isoformat(),
}


UNFIT = [
    *(("conversation", MESSAGE | wrong) for wrong in (
        {"role": "system"}, {"content": "a\x00b"}, {"content": 5}, {"content": None}, {"position": -1},
        {"position": 2**40}, {"create_time": "2026-11-20T08:30:00"}, {"create_time": "soon"}, {"emotion": "x" * 51},
        {"session_id": "44444444-4444-4444-8444-444444444444"},
    )),
    *(("long_term_memory", MEMORY | wrong) for wrong in (
        {"category": "rumour"}, {"value": "x" * 40_000}, {"confidence": 7}, {"key": ""}, {"status": "believed"},
    )),
    *(("atomic_memory", {"id": MEMORY["id"], "content": "c"} | wrong) for wrong in (
        {"content": " "}, {"tags": "no list"}, {"proposal": {"reason": "none"}},
    )),
    ("working_memory", {"session_id": MESSAGE["session_id"], "context_variables": [1]}),
    ("turn", {"assistant_message_id": MESSAGE["session_id"]}),
    ("accounts_setting", {"key": "memory.rag_top_n", "value": 1_000}),
    ("accounts_setting", {"key": "memory.nonsense", "value": 1}),
    ("accounts_user", {"id": 1}),
    ("no_table", {}),
    ("recording", {"session_id": MESSAGE["session_id"], "idempotency_key": "k", "digest": "no hex"}),
]  # fmt: skip


def test_a_row_that_cannot_be_is_left_out_and_the_others_are_restored(subtests: pytest.Subtests) -> None:
    for table, row in UNFIT:
        with subtests.test(table, row=row):
            user = UserFactory.create()
            document = {"user": {}, "digests": "", "data": {"chat_session": [{"id": str(uuid.uuid4())}], table: [row]}}
            restored = restore(user, document)
            assert restored.restored == {"chat_session": 1}
            assert restored.left_out == ({} if table in ("accounts_user", "no_table") else {table: 1})
    assert (
        restore(UserFactory.create(), {"user": 5, "digests": 5, "data": {"chat_session": [{"id": 5}]}}).left_out == {}
    )
    assert User.objects.count() == len(UNFIT) + 1


@pytest.mark.spec("P4")
def test_spaces_are_restored_with_what_is_in_them_and_take_another_name_where_theirs_is_taken() -> None:
    owner, other = UserFactory.create(), UserFactory.create()
    for name in ("Novel", "novel (2)"):
        inside = owner.within(create_space(user=owner, name=name, instructions="Be brief.").id)
        create_session(user=inside, title=name)
        create_memory(user=inside, category="fact", key="home", value=name, now=NOW)
    token = find_token(create_token(user=owner, space=Space.objects.get(name="Novel")))
    assert token is not None
    document = export(owner)
    create_space(user=other, name="novel")
    restore(other, document)
    found = {space.name: space for space in Space.objects.filter(user=other)}
    assert len(found) == 3
    for name, space in found.items():
        rows = LongTermMemory.objects.filter(user=other, space=space)
        came_from = "Novel" if name[0] == "N" else "novel (2)"
        assert [row.value for row in rows] == ([] if name == "novel" else [came_from])
        changes = Change.objects.filter(user=other, object_id__in=[row.id for row in rows])
        assert {(change.space_id, change.after["space"]) for change in changes if change.after} == (
            {(space.id, str(space.id))} if rows else set()
        )
        assert Session.objects.filter(user=other, space=space).count() == len(rows)
    assert erase_user(user=owner).verified
    assert not Space.objects.filter(user=owner).exists()
    assert not ApiToken.objects.filter(pk=token.pk).exists(), "it would be bound to nothing"
    restore(owner, document)
    assert set(Space.objects.filter(user=owner).values_list("name", flat=True)) == {"Novel", "novel (2)"}
    assert LongTermMemory.objects.filter(user=owner, space__name="Novel").get().value == "Novel"
