"""What an erasure leaves, so that it can be done again after an older backup was restored (R3)."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import ErasureRecord, User
from apps.accounts.services.erasure import delete_account, erase_user
from apps.accounts.services.ledger import (
    ACCOUNT,
    FILE,
    PERSON,
    SESSION,
    BadRecord,
    Erased,
    add_records,
    format_record,
    identify_person,
    make_digest,
    parse_records,
    read_file,
)
from apps.conversations.sessions import create_session, delete_session
from apps.core.secret_key import fingerprint
from tests.support.factories import UserFactory

NOW = datetime(2026, 11, 25, 8, 30, tzinfo=UTC)
RECORD = Erased(id="626e9d32-56cc-4774-8106-67df3fd3d1a0", kind=PERSON, subject="ab" * 32, at=NOW, key="01" * 8)
OF_MEMORY = Erased(id="x", kind="atomic", subject=str(uuid4()), at=NOW)


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.mark.spec("R3")
@pytest.mark.django_db(transaction=True)
def test_an_erasure_leaves_a_digest_in_the_table_and_in_the_file(folder: Path, settings: Any) -> None:
    user = UserFactory.create(username="mei")
    erase_user(user=user)
    (row,) = ErasureRecord.objects.all()
    identity = identify_person(user.pk, user.date_joined)
    assert (row.kind, row.subject) == (PERSON, make_digest(PERSON, identity, key=settings.SECRET_KEY))
    assert row.key == fingerprint(settings.SECRET_KEY)
    text = (folder / FILE).read_text()
    assert read_file(folder / FILE) == [Erased(str(row.id), row.kind, row.subject, row.at, row.key)]
    assert "mei" not in text
    assert json.loads(text).keys() == {"id", "kind", "subject", "at", "key"}
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_deleted_accounts_and_conversations_leave_one_too(folder: Path) -> None:
    staff, user = UserFactory.create(is_superuser=True), UserFactory.create()
    delete_session(user=user, session_id=create_session(user=user).id)
    delete_account(user=user, by=staff)
    assert [record.kind for record in read_file(folder / FILE)] == [SESSION, PERSON, ACCOUNT]
    assert ErasureRecord.objects.count() == 3
    assert list(User.objects.all()) == [staff]


@pytest.mark.django_db(transaction=True)
def test_a_folder_that_cannot_be_written_stops_no_erasure(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path / "missing"
    assert erase_user(user=UserFactory.create()).verified
    assert ErasureRecord.objects.count() == 1


@pytest.mark.django_db
def test_records_from_elsewhere_are_taken_over_once() -> None:
    assert [add_records([RECORD, OF_MEMORY]) for _ in range(2)] == [1, 0]


@given(st.integers(min_value=1), st.datetimes(timezones=st.just(UTC)))
def test_a_digest_depends_on_person_kind_and_key(user_id: int, joined: datetime) -> None:
    identity = identify_person(user_id, joined)
    digests = {make_digest(kind, identity, key=key) for kind in (PERSON, ACCOUNT) for key in ("a", "b")}
    assert len(digests) == 4
    assert make_digest(PERSON, identify_person(user_id + 1, joined), key="a") not in digests


def test_lines_are_read_as_they_were_written_but_for_one_that_was_being_written() -> None:
    lines = [format_record(record) + "\n" for record in (RECORD, OF_MEMORY)]
    assert list(parse_records([lines[0], "\n", lines[1], lines[0][:20]])) == [RECORD, OF_MEMORY]


@pytest.mark.parametrize(
    "line",
    ["nonsense", "[]", "{}", "null", format_record(RECORD).replace("ab", "zz"), format_record(RECORD)[:40],
     format_record(RECORD).replace("+00:00", ""), format_record(RECORD).replace(PERSON, "atomic")],
)  # fmt: skip
def test_other_lines_are_refused_by_their_number(line: str) -> None:
    with pytest.raises(BadRecord, match=r"^line 2 "):
        list(parse_records(["\n", line + "\n"]))
