"""What was erased since a backup is erased again in what is restored from it (R3).

Here the tables are those of a backup, and records come as they do from the database that was replaced. The whole of it,
with real servers, is `test_restoring.py`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from apps.accounts.models import ErasureRecord, Space, User
from apps.accounts.services.ledger import ACCOUNT, PERSON, SESSION, SPACE, Erased, identify_person, make_digest
from apps.accounts.spaces import create_space
from apps.backup.erasures import merge_erasures, read_erasures, reapply_erasures
from apps.backup.postgresql import BackupError
from apps.conversations.models import Session
from apps.conversations.sessions import create_session, delete_session
from apps.core.secret_key import fingerprint
from apps.memory.contexts import create_context
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicEmbedding, AtomicMemory, LongTermEmbedding, LongTermMemory, SharedContext
from apps.memory.spaces import delete_space
from apps.profile.models import UserProfile
from apps.profile.services import update_profile
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.spec("R3"),
    pytest.mark.django_db,
    pytest.mark.long_except(
        "test_a_person_is_erased_again_with_a_receipt_and_nobody_else",
        "test_memories_and_conversations_are_deleted_again_by_what_the_replaced_database_records",
    ),
]

NOW = datetime(2026, 11, 25, 8, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Any, settings: Any) -> None:
    settings.DATA_DIR = tmp_path


def make_person(name: str) -> User:
    user = UserFactory.create(username=name)
    create_session(user=user)
    create_memory(user=user, category="fact", key="home", value="上海", now=NOW)
    create_atomic_memory(user=user, content="The user has a cat.", now=NOW)
    create_context(user=user, title="押金", content="房东不退。", now=NOW)
    update_profile(user=user, changes={"background": "A nurse."}, now=NOW)
    return user


def give_id(row: LongTermMemory | AtomicMemory, row_id: UUID) -> None:
    """As an import of an export of everything does, which keeps IDs."""
    LongTermEmbedding.objects.all().delete()
    AtomicEmbedding.objects.all().delete()
    type(row)._default_manager.filter(id=row.id).update(id=row_id)


def record(kind: str, identity: str, *, key: str) -> Erased:
    return Erased(str(uuid4()), kind, make_digest(kind, identity, key=key), NOW, fingerprint(key))


def of_person(user: User, *, key: str, kind: str = PERSON) -> Erased:
    return record(kind, identify_person(user.pk, user.date_joined), key=key)


def test_a_person_is_erased_again_with_a_receipt_and_nobody_else(settings: Any) -> None:
    mei, lin = make_person("mei"), make_person("lin")
    erased = of_person(mei, key=settings.SECRET_KEY)
    another = record(PERSON, identify_person(lin.pk, NOW), key=settings.SECRET_KEY)  # had this ID at another time
    reapplied = reapply_erasures([erased, another])
    (receipt,) = reapplied.receipts.values()
    assert receipt.verified
    assert receipt.deleted["long_term_memory"] == 1
    assert User.objects.get(pk=mei.pk).data_epoch == 1
    for table in (Session, LongTermMemory, AtomicMemory, SharedContext, UserProfile):
        assert set(table.objects.values_list("user_id", flat=True)) == {lin.pk}
    assert UUID(erased.id) in ErasureRecord.objects.values_list("id", flat=True)
    # What a backup has as erased is not erased again from what was said since.
    create_memory(user=mei, category="fact", key="home", value="Leeds", now=timezone.now())
    assert reapply_erasures([erased]).receipts == {}
    assert LongTermMemory.objects.filter(user=mei).count() == 1


def test_an_account_goes_with_those_that_it_serves_and_the_last_superuser_stays(settings: Any) -> None:
    shop, admin = make_person("shop"), make_person("admin")
    User.objects.filter(pk=admin.pk).update(is_superuser=True)
    served = UserFactory.create(username="served", service=shop, external_id="mei")
    key = settings.SECRET_KEY
    reapplied = reapply_erasures([of_person(person, key=key, kind=ACCOUNT) for person in (shop, served, admin)])
    assert reapplied.verified
    assert User.objects.get().username == "admin"
    assert not LongTermMemory.objects.exists()


def test_a_former_key_recognises_too_and_an_unknown_one_is_refused(settings: Any) -> None:
    mei = make_person("mei")
    erased = of_person(mei, key="an earlier key")
    with pytest.raises(BackupError, match=rf"fingerprint {fingerprint('an earlier key')}.*SECRET_KEY_FALLBACKS"):
        reapply_erasures([erased])
    assert LongTermMemory.objects.exists()
    settings.SECRET_KEY_FALLBACKS = ["an earlier key"]
    assert len(reapply_erasures([erased]).receipts) == 1


def test_memories_and_conversations_are_deleted_again_by_what_the_replaced_database_records(settings: Any) -> None:
    mei = make_person("mei")
    ids = {
        "long_term": LongTermMemory.objects.get().id,
        "atomic": AtomicMemory.objects.get().id,
        "context": SharedContext.objects.get().id,
        "profile": UserProfile.objects.get().id,
    }
    records = [Erased(f"{kind}:{row_id}", kind, str(row_id), NOW) for kind, row_id in ids.items()]
    records.append(Erased("atomic:gone", "atomic", str(uuid4()), NOW))
    records.append(record(SESSION, str(Session.objects.get().id), key=settings.SECRET_KEY))
    assert reapply_erasures(records).counts == dict.fromkeys(("conversations", *ids), 1)
    for table in (LongTermMemory, AtomicMemory, SharedContext, Session):
        assert not table.objects.exists()
    assert UserProfile.objects.get().version == 0
    # It has become known as deleted: nothing brings it back from what was said before.
    assert create_memory(user=mei, category="fact", key="pet", value="cat", now=timezone.now())


def test_a_database_tells_what_it_has_deleted_and_not_what_is_there_again() -> None:
    mei = make_person("mei")
    memory, atomic, session = LongTermMemory.objects.get(), AtomicMemory.objects.get(), Session.objects.get()
    session_id, now = session.id, timezone.now()
    delete_memories(LONG_TERM, user=mei, ids=[memory.id], now=now)
    delete_memories(ATOMIC, user=mei, ids=[atomic.id], now=now)
    delete_session(user=mei, session_id=session_id)
    assert {told.kind for told in read_erasures(since=NOW)} == {SESSION, "long_term", "atomic"}
    again, _new = create_atomic_memory(user=mei, content="The user has a dog.", now=now)
    give_id(again, atomic.id)
    Session.objects.create(id=session_id, user=mei)
    told = read_erasures(since=NOW)
    assert [(record.kind, record.subject, record.at) for record in told] == [("long_term", str(memory.id), now)]
    assert read_erasures(since=now.replace(year=now.year + 1)) == []


def test_what_a_database_records_is_not_done_again_where_it_was_written_anew() -> None:
    mei = make_person("mei")
    memory = LongTermMemory.objects.get()
    now = timezone.now()
    delete_memories(LONG_TERM, user=mei, ids=[memory.id], now=now)
    again, _action = create_memory(user=mei, category="fact", key="home", value="Leeds", now=now)
    give_id(again, memory.id)
    assert reapply_erasures([Erased("x", "long_term", str(memory.id), now)]).counts == {}
    assert LongTermMemory.objects.get().value == "Leeds"


def test_records_of_several_sources_count_once() -> None:
    earlier, later = (Erased("x", "atomic", str(uuid4()), NOW.replace(hour=hour)) for hour in (8, 9))
    other = Erased("y", "atomic", str(uuid4()), NOW.replace(hour=7))
    assert merge_erasures([later, other, earlier]) == [other, later]


@pytest.mark.spec("P4")
def test_an_erased_space_goes_again_unless_something_is_in_it_that_was_not_erased(settings: Any) -> None:
    mei = UserFactory.create(username="mei")
    empty, kept = (create_space(user=mei, name=name, instructions="Secret.") for name in ("empty", "kept"))
    create_memory(user=mei.within(kept.id), category="fact", key="home", value="York", now=NOW)
    records = [record(SPACE, str(space.id), key=settings.SECRET_KEY) for space in (empty, kept)]
    assert reapply_erasures(records).counts == {"spaces": 1}
    assert Space.objects.get() == kept
    assert LongTermMemory.objects.get().space == kept


@pytest.mark.spec("P4")
def test_a_database_tells_which_spaces_it_has_erased() -> None:
    mei = UserFactory.create(username="mei")
    spaces = [create_space(user=mei, name=name) for name in ("erased", "moved")]
    memories = [
        create_memory(user=mei.within(space.id), category="fact", key="home", value="York", now=NOW)[0]
        for space in spaces
    ]
    for space, erase in zip(spaces, (True, False), strict=True):
        delete_space(user=mei, space_id=space.id, erase=erase, now=timezone.now())
    told = [(record.kind, record.subject) for record in read_erasures(since=NOW)]
    assert {kind for kind, _subject in told} == {"long_term", SPACE}
    assert ("long_term", str(memories[0].id)) in told
    Space.objects.create(id=spaces[0].id, user=mei, name="again")
    assert SPACE not in {record.kind for record in read_erasures(since=NOW)}
