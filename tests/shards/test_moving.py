"""A person is moved to another server and back: all of it or nothing, whatever dies, while others write for them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.services import create_token, update_settings
from apps.accounts.services.identity import get_or_create_end_user
from apps.accounts.services.placement import Moved
from apps.conversations.models import Message, MessageStatus
from apps.core.errors import Conflict, InvalidInput, Unavailable
from apps.memory.models import Change, LongTermMemory
from apps.shards.models import PersonMove
from apps.shards.moving import _Move, move_person
from apps.shards.recovering import finish_moves
from apps.shards.rows import Differs, read_tables
from apps.shards.servers import DIRECTORY, connect
from apps.shards.two_phase import hold_person
from tests.accounts.everything import fill_everything
from tests.shards.conftest import Shard
from tests.support.factories import LongTermMemoryFactory, UserFactory
from tests.support.http_server import ApiClient
from tests.support.processes import wait_until

pytestmark = pytest.mark.long


@pytest.fixture
def mei(shard: Shard) -> User:
    user: User = UserFactory.create(username="mei")
    LongTermMemoryFactory.create(user=user, key="城市", value="汉堡")
    return user


def move(user: User, target: str = "b", **values: Any) -> dict[str, int]:
    moved = move_person(user=user, target=target, settle_seconds=0, **values).rows
    user.refresh_from_db()
    return moved


def _statements(user: User) -> list[str]:
    return [
        f"SELECT ROW({', '.join(table.columns)})::text FROM {table.name} WHERE user_id = {user.pk} ORDER BY 1"
        for table in read_tables()
    ]


def read_here(user: User) -> list[list[Any]]:
    """All rows of a person at the directory as text, table by table."""
    found = []
    with connection.cursor() as cursor:
        for statement in _statements(user):
            cursor.execute(statement)
            found.append(cursor.fetchall())
    return found


def read_there(shard: Shard, user: User) -> list[list[Any]]:
    return [shard.fetch(statement) for statement in _statements(user)]


def is_empty(rows: list[list[Any]]) -> bool:
    return not any(rows)


def list_prepared(shard: Shard) -> list[Any]:
    return shard.fetch("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")


# All of it


@pytest.mark.long
def test_everything_goes_there_and_comes_back_as_it_was(alice: ApiClient, bob: ApiClient, shard: Shard) -> None:
    fill_everything(alice)
    LongTermMemoryFactory.create(user=bob.user)
    Message.objects.filter(status=MessageStatus.PENDING).update(status=MessageStatus.FAILED)
    alice.user.work.update(claim=None, lease_until=None, worker="")
    before, of_bob = read_here(alice.user), read_here(bob.user)
    assert all(before), "rows in every table"

    moved = move(alice.user)
    assert (alice.user.shard, alice.user.moving_until) == ("b", None)
    assert sum(moved.values()) == sum(map(len, before))
    assert is_empty(read_here(alice.user))
    assert read_there(shard, alice.user) == before
    assert read_here(bob.user) == of_bob
    assert ApiToken.objects.filter(user=alice.user).count() == 1
    ((name, password),) = shard.fetch("SELECT username, password FROM accounts_user")
    assert (name, password) == ("alice", "!")

    move(alice.user, "")
    assert read_here(alice.user) == before
    assert is_empty(read_there(shard, alice.user))
    assert shard.fetch("SELECT FROM accounts_user") == []
    assert [(each.source, each.target) for each in PersonMove.objects.order_by("at")] == [("", "b"), ("b", "")]
    assert list_prepared(shard) == []


@pytest.mark.long
def test_vectors_find_their_model_there_whatever_its_id(alice: ApiClient, shard: Shard) -> None:
    fill_everything(alice)
    Message.objects.filter(status=MessageStatus.PENDING).update(status=MessageStatus.FAILED)
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM embedding_model WHERE state = 'active'")
        name = cursor.fetchone()[0]
    with shard.connect() as there:
        there.execute(
            "INSERT INTO embedding_model (id, name, state, created_at) VALUES (4711, %s, 'active', now())", [name]
        )
    move(alice.user)
    assert {row[0] for row in shard.fetch("SELECT DISTINCT model_id FROM long_term_embedding")} == {4711}
    with shard.connect() as there:
        there.execute("UPDATE embedding_model SET name = 'another'")
    with pytest.raises(Conflict, match="different models"):
        move(alice.user, "")


@pytest.mark.long
def test_work_that_was_claimed_is_due_again_there(alice: ApiClient, shard: Shard) -> None:
    fill_everything(alice)
    Message.objects.filter(status=MessageStatus.PENDING).update(status=MessageStatus.FAILED)
    count = alice.user.work.update(claim="somebody", lease_until=timezone.now() + timedelta(minutes=5), worker="w")
    move(alice.user)
    assert shard.fetch("SELECT DISTINCT claim, lease_until, worker FROM work") == [(None, None, "")]
    assert shard.fetch("SELECT count(*) FROM work") == [(count,)]


def test_who_acted_is_known_there(mei: User, shard: Shard) -> None:
    staff = UserFactory.create(username="staff")
    Change.objects.filter(user=mei).update(actor=staff)
    move(mei)
    statement = "SELECT username, user_id FROM memory_change JOIN accounts_user ON accounts_user.id = actor_id"
    assert shard.fetch(statement) == [("staff", mei.pk)]


@pytest.mark.long
def test_an_end_user_is_moved_with_a_copy_of_the_service(shard: Shard) -> None:
    service = UserFactory.create(username="service")
    create_token(user=service, is_service=True)
    person = get_or_create_end_user(service=service, external_id="小美")
    move(person)
    copied = "SELECT username, shard, external_id FROM accounts_user ORDER BY id"
    assert shard.fetch(copied) == [("service", "", ""), (person.username, "b", "小美")]
    with pytest.raises(Conflict, match="is a service"):
        move(service)


# Or nothing


class Died(BaseException):
    """The process that moves somebody is killed: nothing that it would do afterwards happens."""


def die_at(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Have the next move die before a step. Its connections end, as those of a process that is gone."""

    def die(self: _Move, *_arguments: Any) -> None:
        raise Died

    monkeypatch.setattr(_Move, moment, die)
    monkeypatch.setattr(_Move, "_is_decided", die)


@pytest.mark.long
@pytest.mark.parametrize("moment", ["_copy_accounts", "_leave_source", "_decide"])
def test_a_move_that_dies_before_it_is_decided_has_not_happened(
    mei: User, shard: Shard, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    before = read_here(mei)
    with monkeypatch.context() as patched:
        die_at(patched, moment)
        with pytest.raises(Died):
            move(mei)
    assert [each.committed for each in finish_moves()] == ([False] if moment == "_decide" else [])
    assert read_here(mei) == before
    assert is_empty(read_there(shard, mei))
    move(mei)
    assert read_there(shard, mei) == before


@pytest.mark.long
def test_a_move_that_dies_after_it_was_decided_is_completed(
    mei: User, shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_here(mei)
    with monkeypatch.context() as patched:
        die_at(patched, "_finish")
        with pytest.raises(Died):
            move(mei)
    assert is_empty(read_there(shard, mei))
    assert len(list_prepared(shard)) == 1
    assert [(each.server, each.committed) for each in finish_moves()] == [("b", True)]
    assert read_there(shard, mei) == before
    assert is_empty(read_here(mei))
    mei.refresh_from_db()
    assert (mei.shard, mei.moving_until) == ("b", None)


def test_a_move_that_lives_is_left_alone(mei: User, shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[Any] = []
    decide = _Move._decide

    def look_first(self: _Move) -> None:
        ended.extend(finish_moves())
        decide(self)

    monkeypatch.setattr(_Move, "_decide", look_first)
    move(mei)
    assert ended == []
    assert mei.shard == "b"


def test_what_arrives_otherwise_is_not_kept(mei: User, shard: Shard) -> None:
    with shard.connect() as there:
        there.execute(
            "CREATE FUNCTION garble() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN NEW.key := NEW.key || '!'; RETURN NEW; END $$"
        )
        there.execute("CREATE TRIGGER garble BEFORE INSERT ON long_term_memory FOR EACH ROW EXECUTE FUNCTION garble()")
    try:
        with pytest.raises(Differs):
            move(mei)
    finally:
        with shard.connect() as there:
            there.execute("DROP FUNCTION garble() CASCADE")
    assert LongTermMemory.objects.get(user=mei).key == "城市"
    assert is_empty(read_there(shard, mei))
    mei.refresh_from_db()
    assert (mei.shard, mei.moving_until) == ("", None)


def test_a_server_that_is_away_changes_nothing(mei: User, shard: Shard) -> None:
    port, shard.settings["PORT"] = shard.settings["PORT"], "9"
    host, shard.settings["HOST"] = shard.settings["HOST"], "127.0.0.1"
    try:
        with pytest.raises(Unavailable, match="was not moved"):
            move(mei)
    finally:
        shard.settings["PORT"], shard.settings["HOST"] = port, host
    mei.refresh_from_db()
    assert mei.shard == ""


def test_what_cannot_be_is_refused(mei: User, shard: Shard) -> None:
    with pytest.raises(InvalidInput, match="no shard 'x'"):
        move(mei, "x")
    with pytest.raises(Conflict, match="already"):
        move(mei, "")
    with shard.connect() as there:
        there.execute("DELETE FROM django_migrations WHERE app = 'shards'")
        try:
            with pytest.raises(Conflict, match="different migrations"):
                move(mei)
        finally:
            there.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('shards', '0001_moves', now())")
    with connect(DIRECTORY) as (directory,), hold_person(directory, mei.pk), pytest.raises(Conflict, match="else"):
        move(mei)


# While others write


@pytest.mark.long
def test_a_reply_that_is_being_written_is_waited_for(alice: ApiClient, shard: Shard) -> None:
    alice.say(alice.new_session(), "你好").raise_for_status()
    pending = Message.objects.filter(user=alice.user, role="user")
    pending.update(status=MessageStatus.PENDING, lease_until=timezone.now() + timedelta(minutes=1))
    with pytest.raises(Unavailable, match="still being written"):
        move(alice.user, patience_seconds=0)
    pending.update(lease_until=timezone.now())  # nobody writes it any more
    assert move(alice.user)["conversation"] == 2


def test_who_writes_is_waited_for(mei: User, shard: Shard) -> None:
    writing, told = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            update_settings(user=mei, changes={"memory.timezone": "Asia/Shanghai"})
            writing.set()
            told.wait(200)
        connection.close()

    threads = [threading.Thread(target=write), in_thread(lambda: move_person(user=mei, target="b", settle_seconds=0))]
    threads[0].start()
    assert writing.wait(200)
    threads[1].start()
    wait_until(lambda: count_waiting() == 1)
    told.set()
    for thread in threads:
        thread.join(200)
    assert shard.fetch("SELECT value FROM accounts_setting") == [("Asia/Shanghai",)]
    assert not mei.settings.exists()


def test_who_writes_while_the_person_is_carried_is_told_that_they_have_gone(
    mei: User, shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome: list[type[Exception]] = []
    copy_accounts = _Move._copy_accounts

    def write() -> None:
        try:
            update_settings(user=mei, changes={"memory.timezone": "Asia/Shanghai"})
        except Moved as error:
            outcome.append(type(error))

    writer = in_thread(write)

    def be_disturbed(self: _Move) -> None:
        writer.start()
        wait_until(lambda: count_waiting() == 1)
        copy_accounts(self)

    monkeypatch.setattr(_Move, "_copy_accounts", be_disturbed)
    move(mei)
    writer.join(200)
    assert outcome == [Moved]
    assert shard.fetch("SELECT count(*) FROM accounts_setting") == [(0,)]
    assert not mei.settings.exists()


def in_thread(function: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        try:
            function()
        finally:
            connection.close()

    return threading.Thread(target=run)


def count_waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


# Commands


@pytest.mark.long
def test_the_commands_move_people_and_tell_where_everybody_is(mei: User, shard: Shard) -> None:
    service = UserFactory.create(username="service")
    people = [get_or_create_end_user(service=service, external_id=str(number)) for number in range(2)]
    output = StringIO()
    call_command("move_person", "mei", "--all-of", "service", "--to", "b", "--settle", "0", stdout=output)
    assert re.search(r"^mei: \d+ rows, requests waited \d\.\d s$", output.getvalue(), re.MULTILINE)
    assert set(User.objects.filter(shard="b")) == {mei, *people}
    output = StringIO()
    call_command("shards", stdout=output)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.getvalue().splitlines()]
    assert ["directory", "yes", "1", "0", "0"] in rows
    assert ["b", "yes", "3", "0", "0"] in rows
    with pytest.raises(CommandError, match="1 of 1 were not moved"):
        call_command("move_person", "service", "--to", "b", stderr=StringIO())
    with pytest.raises(CommandError, match="nobody named nobody"):
        call_command("move_person", "nobody", "--to", "b")


def test_rows_in_the_wrong_place_are_told(mei: User, shard: Shard) -> None:
    User.objects.filter(pk=mei.pk).update(shard="b")
    with pytest.raises(CommandError, match=rf"directory holds rows of people who are elsewhere .*{mei.pk}"):
        call_command("shards", stdout=StringIO())


def test_no_row_is_carried_by_a_key_that_another_server_gives(shard: Shard) -> None:
    """Keys that databases count are given anew, so nothing may refer to them."""
    statement = (
        "SELECT confrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND confrelid = ANY(%s::regclass[])"
    )
    counted = [table.name for table in read_tables() if table.key not in table.columns]
    with connection.cursor() as cursor:
        cursor.execute(statement, [counted])
        assert cursor.fetchall() == []
