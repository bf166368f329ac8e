"""Erasing a person's data everywhere, with a receipt that was checked (R3)."""

from __future__ import annotations

import base64
import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
import redis
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.services import erasure
from apps.accounts.services.erasure import Receipt, count_rows, erase_user
from apps.accounts.services.people import create_token, get_or_create_end_user
from apps.accounts.services.personal_data import list_tables
from apps.conversations.models import Message, Session
from apps.conversations.queue import ClaimLost
from apps.conversations.rounds import record_assistant_message
from apps.conversations.sessions import create_session
from apps.conversations.worker import claim_batch, claim_rounds, claim_session, finish
from apps.core.errors import NotFound
from apps.extraction import tasks
from apps.extraction.run import extract
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory
from apps.memory.working import record_form
from tests.contracts.world import SECRET, build_world, dump, fill_everything
from tests.support.answers import answer
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient, HttpServer
from tests.support.installations import find_postgres_programs
from tests.support.processes import wait_until
from tests.support.scripted_model import Gate, Reply, ScriptedModel

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("R3"),
    pytest.mark.long_except(
        "test_no_word_of_the_person_is_left_in_the_database_or_the_broker",
        "test_a_wrong_confirmation_erases_nothing",
        "test_a_reply_under_way_stores_nothing",
        "test_what_the_cache_holds_under_the_persons_id_goes",
    ),
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
# Of the person, in both languages: one alone would give them away, too.
WORDS = SECRET.split()


@pytest.fixture
def broker(servers: None, settings: Any) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        yield client


def dump_database() -> str:
    """The whole database as pg_dump writes it."""
    values = connection.get_connection_params()
    command = [find_postgres_programs() / "pg_dump", f"--host={values['host']}", f"--username={values['user']}"]
    command += [f"--dbname={values['dbname']}", *([f"--port={values['port']}"] if values.get("port") else [])]
    environment = {"PGPASSWORD": values.get("password") or ""}
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()


def dump_broker(broker: redis.Redis) -> str:
    """Every key of every database of the server with its value; bodies of queued tasks are decoded."""
    readers = {
        b"string": lambda key: [broker.get(key)],
        b"list": lambda key: broker.lrange(key, 0, -1),
        b"set": broker.smembers,
        b"zset": lambda key: broker.zrange(key, 0, -1),
        b"hash": lambda key: [part for pair in broker.hgetall(key).items() for part in pair],
    }
    values = [value for key in broker.scan_iter() for value in (key, *readers[broker.type(key)](key))]
    texts = [(value or b"").decode(errors="replace") for value in values]
    bodies = [base64.b64decode(body).decode() for text in texts for body in re.findall(r'"body": "([^"]+)"', text)]
    return "\n".join(texts + bodies)


# What goes and what stays


def test_everything_goes_and_the_receipt_counts_it(alice: ApiClient, bob: ApiClient) -> None:
    fill_everything(alice)
    there, others = count_rows(alice.user), dump(bob.user)
    assert [name for name, rows in there.items() if not rows] == []
    for table in list_tables():
        for row in table.rows(alice.user):  # what the admin writes into its log of a row is the row as a string
            assert not [word for word in WORDS if word in str(row)], table.name
    receipt = alice.post("/memory/erase", json={"confirm": "alice"})
    assert (receipt.status_code, receipt.json()) == (200, {"deleted": there, "verified": True})
    assert not any(count_rows(alice.user).values())
    assert dump(bob.user) == others
    # The account and its tokens stay, and it can begin anew.
    assert ApiToken.objects.filter(user=alice.user).count() == 1
    assert User.objects.get(username="alice").data_epoch == 1
    assert alice.get("/memory/settings").json()["memory.timezone"] == "UTC"
    turn = alice.say(alice.new_session(), "我喜欢蓝色").raise_for_status().json()
    assert turn["memories_used"] == []
    assert alice.post("/memory/erase", json={"confirm": "alice"}).json()["deleted"]["conversation"] == 2


def test_no_word_of_the_person_is_left_in_the_database_or_the_broker(
    alice: ApiClient, bob: ApiClient, broker: redis.Redis
) -> None:
    broker.flushall()
    fill_everything(alice)
    build_world(bob)
    LongTermMemory.objects.filter(user=bob.user).delete()
    wait_until(lambda: broker.keys("*"))
    erase_user(user=bob.user)
    before = dump_database()
    assert all(word in before for word in WORDS)
    assert '"task":' in dump_broker(broker), "the queues are read"
    erase_user(user=alice.user)
    after = dump_database() + dump_broker(broker)
    assert "alice" in after
    assert [word for word in WORDS if word in after] == []


# The two doors


def test_a_wrong_confirmation_erases_nothing(alice: ApiClient) -> None:
    create_memory(user=alice.user, category="fact", key="城市", value="北京", now=NOW)
    bodies = [{}, {"confirm": ""}, {"confirm": "bob"}, {"confirm": "Alice"}, {"confirm": 1}, []]
    for body in (*bodies, {"confirm": alice.user.external_id}):
        response = alice.post("/memory/erase", json=body)
        assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")
    assert LongTermMemory.objects.count() == 1


@pytest.mark.spec("T4")
@pytest.mark.parametrize("confirm", ["mei@example.com", "shop+mei@example.com"])
def test_an_end_user_is_confirmed_by_either_name_and_nobody_else_goes(http_server: HttpServer, confirm: str) -> None:
    service = UserFactory(username="shop")
    token = create_token(user=service, is_service=True)
    mei = get_or_create_end_user(service=service, external_id="mei@example.com")
    lin = get_or_create_end_user(service=service, external_id="lin@example.com")
    with ApiClient(http_server, mei, token=token) as as_mei, ApiClient(http_server, lin, token=token) as as_lin:
        build_world(as_mei)
        build_world(as_lin)
        before = [dump(user) for user in (service, lin)]
        for wrong in ("shop", "lin@example.com", ""):
            assert as_mei.post("/memory/erase", json={"confirm": wrong}).status_code == 400
        assert as_mei.get("/memory/long-term").json()["count"]
        assert as_mei.post("/memory/erase", json={"confirm": confirm}).json()["verified"]
        assert not any(count_rows(mei).values())
        assert as_mei.get("/memory/long-term").json()["count"] == 0
        after = [dump(user) for user in (service, lin)]
    for rows in (*before, *after):
        rows.pop("accounts.ApiToken.user")  # its use was noted
        for model in ("User", "EndUser"):
            rows.pop(f"accounts.{model}.service")  # Mei has another epoch
    assert after == before


def test_the_command_asks_erases_and_shows_the_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    user = UserFactory(username="li")
    create_memory(user=user, category="fact", key="城市", value="北京", now=NOW)
    answers = iter(["no", "li"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(answers))
    with pytest.raises(CommandError, match="Nothing was erased"):
        call_command("erase_user", "li", stdout=StringIO())
    assert LongTermMemory.objects.count() == 1
    out = StringIO()
    call_command("erase_user", "li", stdout=out)
    assert LongTermMemory.objects.count() == 0
    assert "1  long_term_memory" in out.getvalue()
    assert "no data is left" in out.getvalue()
    with pytest.raises(CommandError, match="no user named 'nobody'"):
        call_command("erase_user", "nobody", "--yes")
    call_command("erase_user", "li", "--yes", stdout=StringIO())


# Cache


def test_what_the_cache_holds_under_the_persons_id_goes(settings: Any) -> None:
    user, other = UserFactory(), UserFactory()
    for owner in (user, other):
        cache.set(f"throttle_user_{owner.pk}", [1.0])
    assert erase_user(user=user).verified
    assert cache.get(f"throttle_user_{user.pk}") is None
    assert cache.get(f"throttle_user_{other.pk}") == [1.0]


def test_a_cache_that_cannot_be_asked_is_no_verified_erasure(settings: Any) -> None:
    user = UserFactory(username="li")
    create_memory(user=user, category="fact", key="城市", value="北京", now=NOW)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": f"redis://127.0.0.1:{port}/0"}}
    receipt = erase_user(user=user)
    assert (receipt.deleted["long_term_memory"], receipt.verified) == (1, False)
    with pytest.raises(CommandError, match="verified"):
        call_command("erase_user", "li", "--yes", stdout=StringIO())


# Others at work meanwhile


@pytest.mark.parametrize("path", ["messages", "hitl-forms"])
def test_a_reply_under_way_stores_nothing(alice: ApiClient, model: ScriptedModel, path: str) -> None:
    session, gate = alice.new_session(), Gate()
    text = answer("好的。", entries=[{"category": "fact", "key": "城市", "value": "北京"}], variables={"城市": "北京"})
    model.script(Reply((text[:20], gate, text[20:])))
    body = {"content": "我住在北京"} if path == "messages" else {"title": "行程安排", "fields": {"destination": "北京"}}
    with ThreadPoolExecutor(1) as threads:
        sent = threads.submit(alice.post, f"/chat/sessions/{session}/{path}", json=body)
        gate.wait_reached()
        assert erase_user(user=alice.user).verified
        gate.open()
        assert sent.result(timeout=200).status_code == (409 if path == "messages" else 404)
    assert not any(count_rows(alice.user).values())


def test_work_that_was_claimed_before_writes_nothing(alice: ApiClient) -> None:
    alice.say(alice.new_session(), "我住在北京").raise_for_status()
    claim = claim_batch("token")
    assert claim is not None
    erase_user(user=alice.user)
    with pytest.raises(ClaimLost), finish(claim):
        Session.objects.create(user=alice.user)
    assert not any(count_rows(alice.user).values())


@pytest.mark.parametrize(("claim_work", "job"), [(claim_rounds, extract), (claim_session, tasks.summarize_session)])
def test_what_a_model_is_still_asked_about_is_not_stored(
    alice: ApiClient, model: ScriptedModel, claim_work: Any, job: Any
) -> None:
    alice.say(alice.new_session(), "我住在北京，在大学教书。").raise_for_status()
    claim, gate = claim_work("token"), Gate()
    memory = {"content": "用户住在北京。", "tags": [], "about": 1, "relation": "new", "target": None, "confidence": 0.9}
    text = json.dumps({"memories": [memory], "title": "北京", "snippet": "用户住在北京。"}, ensure_ascii=False)
    model.script(Reply((text[:10], gate, text[10:])))

    def run() -> None:
        try:
            job(claim)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run)
        gate.wait_reached()
        assert erase_user(user=alice.user).verified
        gate.open()
        with pytest.raises(ClaimLost):
            running.result(timeout=200)
    assert not any(count_rows(alice.user).values())


def test_who_writes_at_the_same_time_is_waited_for_or_comes_after(alice: ApiClient) -> None:
    """Each takes locks in an order of its own; nobody fails, and nothing is left but what came after."""
    user = alice.user
    session = create_session(user=user)
    held, done = threading.Event(), threading.Event()

    def write() -> str:
        try:
            with transaction.atomic():
                # The session first and the person only with the insertion: the other way round than the erasure.
                list(Session.objects.select_for_update().filter(id=session.id))
                held.set()
                wait_until(lambda: lock_waits() or done.is_set())
                record_form(user=user, session_id=session.id, title="a", fields={"b": "c"}, now=timezone.now())
            return "stored"
        finally:
            connection.close()

    def erase() -> Receipt:
        try:
            held.wait(200)
            return erase_user(user=user)
        finally:
            done.set()
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        writing, erasing = threads.submit(write), threads.submit(erase)
        assert writing.result(timeout=200) == "stored"
        receipt = erasing.result(timeout=200)
    assert (receipt.deleted["working_memory"], receipt.verified) == (1, True)


def lock_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def test_many_writers_and_an_erasure_do_not_fail_each_other(alice: ApiClient) -> None:
    user, stop = alice.user, threading.Event()
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            while not stop.is_set():
                create_memory(user=user, category="fact", key=f"key {number % 2}", value=number, now=timezone.now())
                session = create_session(user=user)
                try:
                    record_form(user=user, session_id=session.id, title="a", fields={"b": 1}, now=timezone.now())
                    record_assistant_message(user=user, session_id=session.id, content="c", now=timezone.now())
                except NotFound:
                    continue
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        writers = [threads.submit(write, number) for number in range(4)]
        try:
            for _ in range(5):
                wait_until(lambda: Message.objects.filter(user=user).exists())
                assert erase_user(user=user).deleted["chat_session"] > 0
        finally:
            stop.set()
        for writer in writers:
            writer.result(timeout=200)
    assert failures == []
    assert erase_user(user=user).verified


def test_a_lock_that_is_never_given_back_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    user = UserFactory()
    create_memory(user=user, category="fact", key="城市", value="北京", now=NOW)
    monkeypatch.setattr(erasure, "LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(erasure, "ATTEMPTS", 2)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            list(User.objects.select_for_update().filter(id=user.pk))
            held.set()
            release.wait(200)
        connection.close()

    with ThreadPoolExecutor(1) as threads:
        threads.submit(hold)
        held.wait(200)
        with pytest.raises(Exception, match="lock timeout"):
            erase_user(user=user)
        release.set()
    assert LongTermMemory.objects.count() == 1


def test_however_many_rows_there_are_each_table_takes_one_statement(
    alice: ApiClient, django_assert_max_num_queries: Any
) -> None:
    session = create_session(user=alice.user)
    Message.objects.bulk_create(
        Message(session=session, user=alice.user, role="user", content="hi", position=number) for number in range(3_000)
    )
    with django_assert_max_num_queries(2 * len(list_tables()) + 8):
        assert erase_user(user=alice.user).deleted["conversation"] == 3_000
